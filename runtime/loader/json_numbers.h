// Whole numbers of any length in JSON, which simdjson refuses.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace prenorm {

/// JSON whose whole numbers of 20 and more digits end in ".0", so that they are read as f64. Hugging Face's
/// tokenizer_config.json has 1000000000000000019884624838656 where a model names no longest text. Linear time.
inline std::string WithLongIntegersAsFloats(std::string_view json) {
  constexpr size_t kLongest = 19;  // Digits that always fit 64 bits.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  size_t copied = 0;
  bool in_string = false, in_number = false;
  for (size_t i = 0; i < json.size();) {
    if (!in_string && !in_number && is_digit(json[i])) {
      size_t end = i;
      while (end < json.size() && is_digit(json[end])) ++end;
      const bool is_whole = end == json.size() || (json[end] != '.' && json[end] != 'e' && json[end] != 'E');
      if (is_whole && end - i > kLongest) {
        out.append(json.substr(copied, end - copied)).append(".0");
        copied = end;
      }
      in_number = true;  // Digits behind a point or an exponent belong to the same number.
      i = end;
      continue;
    }
    const char c = json[i];
    in_number = in_number && (is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-');
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    ++i;
  }
  return out.append(json.substr(std::min(copied, json.size())));
}

}  // namespace prenorm
