// JSON text as values of a template.
#pragma once

#include <string>
#include <string_view>

#include "prenorm/status.h"
#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

/// Members keep their order; the last of equal keys counts. All strings are the caller's data. `what` names the text in
/// messages. Errors: kInvalidArgument for anything but one JSON value; TemplateError beyond the budget.
Result<Value> ParseJson(Budget& budget, std::string_view json, const std::string& what);

}  // namespace prenorm::chat_template
