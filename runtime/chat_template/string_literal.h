// Escapes of string literals, as in Python.
#pragma once

#include <string>
#include <string_view>

namespace prenorm::chat_template {

/// Appends the string between the quotes to `out`. Returns null, or what is wrong with it.
const char* Unescape(std::string_view body, std::string& out);

}  // namespace prenorm::chat_template
