// How values print: Python's str, repr and json.dumps.
#pragma once

#include <optional>
#include <string>

#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

/// The shortest digits that read back as the same number, laid out as Python does: 1.0, 0.1, 1e+16, inf, nan.
std::string FloatRepr(double value);

/// What `{{ value }}` prints. Throws for objects, which Python prints with their address.
void PrintTo(TextBuilder& out, const Value& value);
Text Str(Budget& budget, const Value& value);

/// Python's repr: strings quoted and escaped.
void ReprTo(TextBuilder& out, const Value& value);

/// Arguments of json.dumps, defaults as in transformers' filter.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  ///< One level of it.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// Throws for what JSON cannot hold.
void JsonTo(Budget& budget, TextBuilder& out, const Value& value, const JsonStyle& style);

}  // namespace prenorm::chat_template
