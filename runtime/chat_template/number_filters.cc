// Filters that make numbers, or texts of numbers.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/operators.h"

namespace prenorm::chat_template {
namespace {

[[noreturn]] void TooLarge() {
  throw TemplateError("integers beyond 63 bits are not supported", ErrorKind::kUnsupported);
}

bool IsAlnum(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

// A number as <charconv> reads it, from what Python does: without white space around it, a plus sign, and single
// underscores between digits. Empty where Python would not take it.
std::string Digits(Budget& budget, const Text& text) {
  budget.Work(2 * text.size());
  const Range range = TrimSpace(text.bytes(), Side::kBoth);
  const std::string_view given = std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
  std::string out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == '_') {
      if (i == 0 || i + 1 == given.size() || !IsAlnum(given[i - 1]) || !IsAlnum(given[i + 1])) return "";
    } else if (given[i] == '+' && i == 0) {
      if (given.size() > 1 && given[1] == '-') return "";
    } else {
      out += given[i];
    }
  }
  return out;
}

std::optional<double> ReadFloat(Budget& budget, const Text& text) {
  const std::string digits = Digits(budget, text);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = end == digits.data() + digits.size() && !digits.empty() && digits.back() != ')';  // "nan(1)"
  if (!whole || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(digits.c_str(), nullptr);
  return number;
}

// Nothing where it is no integer; throws where it is one too large.
std::optional<int64_t> ReadInt(Budget& budget, const Text& text, int64_t base) {
  std::string digits = Digits(budget, text);
  const size_t sign = digits.starts_with('-') ? 1 : 0;
  const char mark = digits.size() > sign + 1 && digits[sign] == '0' ? static_cast<char>(digits[sign + 1] | 32) : ' ';
  const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (marked != 0 && (base == marked || base == 0)) {
    digits.erase(sign, 2);
    base = marked;
  }
  if (base == 0) {
    if (digits.size() > sign + 1 && digits[sign] == '0' && digits.find_first_not_of('0', sign) != std::string::npos)
      return std::nullopt;
    base = 10;
  }
  if (base < 2 || base > 36) return std::nullopt;
  int64_t integer = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), integer, static_cast<int>(base));
  if (end != digits.data() + digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) TooLarge();
  return error == std::errc() ? std::optional(integer) : std::nullopt;
}

Value Truncated(double number, const Value& otherwise) {
  if (!std::isfinite(number)) return otherwise;
  if (!(std::fabs(number) < 9223372036854775808.0)) TooLarge();
  return Value(static_cast<int64_t>(number));
}

Value Int(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("int", {"default", "base"});
  RequireDefined(value);
  const Value* given = arguments.Find(0, "default");
  const Value otherwise = given != nullptr ? *given : Value(int64_t{0});
  const int64_t base = arguments.Int(1, "base", 10);
  if (const auto integer = value.ToInt()) return Value(*integer);
  if (const double* number = value.as_float()) {
    if (std::isinf(*number)) TypeError("cannot convert float infinity to integer");
    return Truncated(*number, otherwise);
  }
  const Text* text = value.as_text();
  if (text == nullptr) return otherwise;
  if (const auto integer = ReadInt(in.budget(), *text, base)) return Value(*integer);
  const auto number = ReadFloat(in.budget(), *text);  // "1.5" is 1 in Jinja.
  return number ? Truncated(*number, otherwise) : otherwise;
}

Value Float(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("float", {"default"});
  RequireDefined(value);
  if (value.is_number()) return Value(value.ToDouble());
  const Value* otherwise = arguments.Find(0, "default");
  if (const Text* text = value.as_text()) {
    if (const auto number = ReadFloat(in.budget(), *text)) return Value(*number);
  }
  return otherwise != nullptr ? *otherwise : Value(0.0);
}

Value Abs(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("abs", {});
  if (const double* number = value.as_float()) return Value(std::fabs(*number));
  const bool negative = Less(in.budget(), value, Value(int64_t{0}));
  return negative ? Negate(value) : Negate(Negate(value));
}

Value Round(Interpreter&, const Value& value, Arguments& arguments) {
  arguments.Expect("round", {"precision", "method"});
  RequireDefined(value);
  if (!value.is_number()) TypeError(std::string("cannot round a ") + value.type_name());
  const int64_t precision = arguments.Int(0, "precision", 0);
  const std::string method = arguments.Find(1, "method") != nullptr ? arguments.String(1, "method").bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") TypeError("method must be common, ceil or floor");
  if (precision < -300 || precision > 300) TypeError("the precision is out of range");
  const double number = value.ToDouble();
  if (method == "common") {
    if (value.ToInt() && precision >= 0) return Value(*value.ToInt());
    if (!std::isfinite(number) || precision > 22) return Value(number);
    if (precision >= 0) {  // Correctly rounded decimal digits, halves to even, as Python does.
      char buffer[400];
      std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(precision), number);
      return Value(std::strtod(buffer, nullptr));
    }
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    const double rounded = std::nearbyint(number / unit) * unit;
    return value.ToInt() ? Value(static_cast<int64_t>(rounded)) : Value(rounded);
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double whole = method == "ceil" ? std::ceil(number * unit) : std::floor(number * unit);
  if (!std::isfinite(whole)) TypeError("cannot convert float infinity or NaN to integer");
  return Value((whole + 0.0) / unit);  // An integer in Python, so there is no -0.
}

Value FileSizeFormat(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("filesizeformat", {"binary"});
  RequireDefined(value);
  const auto number = value.is_number()   ? std::optional(value.ToDouble())
                      : value.is_string() ? ReadFloat(in.budget(), *value.as_text())
                                          : std::nullopt;
  if (!number) TypeError("filesizeformat needs a number");
  const double bytes = *number;
  const bool binary = arguments.Bool(0, "binary", false);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::String("1 Byte");
  char buffer[400];
  if (bytes < base) {
    if (std::isinf(bytes)) TypeError("cannot convert float infinity to integer");
    std::snprintf(buffer, sizeof(buffer), "%.0f Bytes", std::trunc(bytes) + 0.0);  // No "-0".
    return Value::String(buffer);
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  static constexpr double kDecimal[] = {1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27};
  const auto unit = [&](size_t power) {
    return binary ? std::ldexp(1.0, 10 * (static_cast<int>(power) + 2)) : kDecimal[power];
  };
  size_t power = 0;
  while (power + 1 < kPrefixes.size() && !(bytes < unit(power))) ++power;
  const char prefix = binary && power == 0 ? 'K' : kPrefixes[power];
  std::snprintf(buffer, sizeof(buffer), "%.1f %c%s", base * bytes / unit(power), prefix, binary ? "iB" : "B");
  return Value::String(buffer);
}

}  // namespace

const FilterEntry kNumberFilters[] = {
    {"abs", Abs}, {"filesizeformat", FileSizeFormat}, {"float", Float}, {"int", Int}, {"round", Round}, {"", nullptr},
};

}  // namespace prenorm::chat_template
