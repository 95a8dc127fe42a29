// Templates that take no system message (case T24).
#pragma once

#include "runtime/chat_template/template.h"

namespace prenorm::chat_template {

/// Renders the input. Where the template raises an error for a conversation that begins with a system message, or
/// leaves its text out, that text precedes the first user message's instead, with an empty line between: it is never
/// dropped silently. Errors: as Template::Render; of the second attempt where there was one.
Result<Rendering> RenderWithSystem(const Template& chat, TemplateInput input);

}  // namespace prenorm::chat_template
