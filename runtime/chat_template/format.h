// Python's str.format; its % is among the operators.
#pragma once

#include "runtime/chat_template/interpreter.h"

namespace prenorm::chat_template {

/// Fields `{}`, `{0}` and `{name}`, with alignment, sign, width, precision and type.
Text BraceFormat(Interpreter& in, const Text& format, const Arguments& arguments);

}  // namespace prenorm::chat_template
