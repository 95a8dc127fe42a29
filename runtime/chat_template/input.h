// The variables of a chat.
#pragma once

#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/template.h"

namespace prenorm::chat_template {

/// Variables by name; everything but roles and special tokens is the caller's data.
/// Errors: kInvalidArgument for JSON that is none. Throws TemplateError beyond the budget.
Result<Dict> MakeVariables(Budget& budget, const TemplateInput& input);

}  // namespace prenorm::chat_template
