// Entities of HTML back to characters.
#pragma once

#include "runtime/chat_template/text.h"

namespace prenorm::chat_template {

/// As Python's html.unescape does it: numbers, and names with or without a semicolon. Throws for a name with a semicolon
/// that is not one of those below 256 or of the usual punctuation: HTML has two thousand more.
Text UnescapeHtml(Budget& budget, const Text& text);

}  // namespace prenorm::chat_template
