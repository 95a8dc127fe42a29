// Python's two ways to put values into a text: % and str.format.
#include "runtime/chat_template/format.h"

#include <cctype>
#include <cmath>
#include <cstdio>

#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/print.h"

namespace prenorm::chat_template {
namespace {

/// The parts of a directive that both ways share.
struct Directive {
  bool left = false;
  bool centered = false;
  bool right = false;
  bool plus = false;
  bool zero = false;
  size_t width = 0;
  int precision = -1;
  char conversion = 0;
};

constexpr int kMaxPrecision = 100;

size_t ReadNumber(std::string_view text, size_t& at) {
  size_t value = 0;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
    value = value * 10 + static_cast<size_t>(text[at++] - '0');
    if (value > kMaxFieldWidth) Budget::Exceeded("characters in a field", kMaxFieldWidth);
  }
  return value;
}

std::string FormatNumber(const Value& value, const Directive& d) {
  if (!value.is_number()) TypeError(std::string("a number is required, not ") + value.type_name());
  std::string out;
  if (d.conversion == 'd' || d.conversion == 'x' || d.conversion == 'X') {
    const double number = value.ToDouble();
    if (!value.ToInt() && !(std::fabs(number) < 9e18)) TypeError("cannot convert the float to an integer");
    const int64_t integer = value.ToInt() ? *value.ToInt() : static_cast<int64_t>(number);
    if (d.conversion == 'd') {
      out = std::to_string(integer);
    } else {
      char buffer[32];
      const uint64_t magnitude = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
      std::snprintf(buffer, sizeof(buffer), d.conversion == 'x' ? "%llx" : "%llX",
                    static_cast<unsigned long long>(magnitude));
      out = (integer < 0 ? "-" : "") + std::string(buffer);
    }
  } else {
    char buffer[512];  // 1.8e308 has 309 digits before the point.
    const std::string pattern = std::string("%.*") + d.conversion;
    const int precision = d.precision < 0 ? 6 : std::min(d.precision, kMaxPrecision);
    const int size = std::snprintf(buffer, sizeof(buffer), pattern.c_str(), precision, value.ToDouble());
    out.assign(buffer, static_cast<size_t>(size));
  }
  return d.plus && out[0] != '-' ? "+" + out : out;
}

void Pad(TextBuilder& out, const Text& text, const Directive& d, bool number) {
  const size_t chars = CountChars(text.bytes());
  const size_t missing = d.width > chars ? d.width - chars : 0;
  if (number && d.zero && !d.left) {
    const size_t sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+') ? 1 : 0;
    out.Add(text, 0, sign);
    out.Add(std::string(missing, '0'));
    return out.Add(text, sign, text.size() - sign);
  }
  const size_t before = d.left ? 0 : d.centered ? missing / 2 : missing;
  out.Add(std::string(before, ' '));
  out.Add(text);
  out.Add(std::string(missing - before, ' '));
}

Text Cut(const Text& text, int precision) {
  if (precision < 0) return text;
  return text.Substr(0, CharOffset(text.bytes(), static_cast<size_t>(precision)));
}

// The value behind `%`: one after the other from a tuple, by name from a dict.
class PercentValues {
 public:
  explicit PercentValues(const Value& values) : values_(values) {
    const List* list = values.as_list();
    tuple_ = list != nullptr && list->kind == ListKind::kTuple ? list : nullptr;
  }
  Value Next() {
    if (next_ >= (tuple_ != nullptr ? tuple_->items.size() : 1)) TypeError("not enough arguments for format string");
    ++next_;
    return tuple_ != nullptr ? tuple_->items[next_ - 1] : values_;
  }
  Value Named(std::string_view name) {
    const Dict* dict = values_.as_dict();
    const Value* value = dict == nullptr ? nullptr : dict->Find(name);
    if (value == nullptr) TypeError("the format has no value named '" + std::string(name) + "'");
    next_ = 1;
    return *value;
  }
  void CheckAllUsed() const {
    // Python takes whatever has a subscript, but for strings and tuples, for a mapping.
    const List* list = values_.as_list();
    const bool subscript = list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kRange);
    const bool mapping = subscript || values_.as_dict() != nullptr || values_.is_undefined();
    const bool all = tuple_ != nullptr ? next_ == tuple_->items.size() : next_ == 1 || mapping;
    if (!all) TypeError("not all arguments converted during string formatting");
  }

 private:
  const Value& values_;
  const List* tuple_;
  size_t next_ = 0;
};

}  // namespace

Text PercentFormat(Budget& budget, const Text& format, const Value& values) {
  const std::string& bytes = format.bytes();
  budget.Work(bytes.size());
  PercentValues source(values);
  TextBuilder out(budget);
  size_t plain = 0;
  while (true) {
    const size_t percent = bytes.find('%', plain);
    if (percent == std::string::npos) break;
    out.Add(format, plain, percent - plain);
    size_t at = percent + 1;
    std::optional<std::string> name;
    if (at < bytes.size() && bytes[at] == '(') {
      const size_t close = bytes.find(')', at);
      if (close == std::string::npos) TypeError("incomplete format key");
      name = bytes.substr(at + 1, close - at - 1);
      at = close + 1;
    }
    Directive d;
    for (; at < bytes.size() && std::string_view("-+0 #").find(bytes[at]) != std::string_view::npos; ++at) {
      d.left |= bytes[at] == '-';
      d.plus |= bytes[at] == '+';
      d.zero |= bytes[at] == '0';
    }
    d.width = ReadNumber(bytes, at);
    if (at < bytes.size() && bytes[at] == '.') d.precision = static_cast<int>(ReadNumber(bytes, ++at));
    if (at == bytes.size()) TypeError("incomplete format");
    d.conversion = bytes[at++];
    plain = at;
    if (d.conversion == '%') {
      out.Add("%");
      continue;
    }
    const Value value = name ? source.Named(*name) : source.Next();
    if (d.conversion == 's' || d.conversion == 'r') {
      TextBuilder one(budget);
      d.conversion == 's' ? PrintTo(one, value) : ReprTo(one, value);
      Pad(out, Cut(one.Take(), d.precision), d, false);
      continue;
    }
    if (d.conversion == 'i') d.conversion = 'd';
    if (std::string_view("dxXfFeEgG").find(d.conversion) == std::string_view::npos) {
      throw TemplateError(std::string("the format %") + d.conversion + " is not supported", ErrorKind::kUnsupported);
    }
    Pad(out, Text(FormatNumber(value, d), Origin::kTemplate), d, true);
  }
  source.CheckAllUsed();
  out.Add(format, plain, bytes.size() - plain);
  return out.Take();
}

Text BraceFormat(Interpreter& in, const Text& format, const Arguments& arguments) {
  const std::string& bytes = format.bytes();
  TextBuilder out(in.budget());
  size_t next = 0;
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != '{' && bytes[at] != '}') continue;
    out.Add(format, plain, at - plain);
    if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
      plain = ++at;  // A doubled brace is one.
      continue;
    }
    const size_t close = bytes.find('}', at);
    if (bytes[at] == '}' || close == std::string::npos) TypeError("single brace in a format string");
    std::string field = bytes.substr(at + 1, close - at - 1);
    std::string spec;
    if (const size_t colon = field.find(':'); colon != std::string::npos) {
      spec = field.substr(colon + 1);
      field.resize(colon);
    }
    if (field.find_first_of(".[!{") != std::string::npos || spec.find('{') != std::string::npos) {
      throw TemplateError("the format field '" + field + "' is not supported", ErrorKind::kUnsupported);
    }
    const bool number = !field.empty() && std::isdigit(static_cast<unsigned char>(field[0])) != 0;
    size_t digits = 0;
    const size_t index = field.empty() ? next++ : number ? ReadNumber(field, digits) : arguments.positional.size();
    in.budget().LookUp(arguments.named.size());
    const Value* value = arguments.Find(index, field);
    if (value == nullptr) TypeError("the format has no value for '{" + field + "}'");

    Directive d;
    size_t s = 0;
    const bool numeric = value->is_number() && value->as_bool() == nullptr;
    if (s < spec.size() && (spec[s] == '<' || spec[s] == '>' || spec[s] == '^')) {
      d.left = spec[s] == '<';
      d.centered = spec[s] == '^';
      d.right = spec[s++] == '>';
    }
    if (s < spec.size() && spec[s] == '+') d.plus = ++s > 0;
    if (s < spec.size() && spec[s] == '0') d.zero = ++s > 0;
    d.width = ReadNumber(spec, s);
    if (s < spec.size() && spec[s] == '.') d.precision = static_cast<int>(ReadNumber(spec, ++s));
    if (s < spec.size()) d.conversion = spec[s++];
    if (s != spec.size() || std::string_view("sdxXfFeE").find(d.conversion) == std::string_view::npos) {
      if (d.conversion != 0) throw TemplateError("the format '" + spec + "' is not supported", ErrorKind::kUnsupported);
    }
    if (!numeric && !d.right && !d.centered) d.left = true;
    const bool as_text = d.conversion == 's' || (d.conversion == 0 && (!numeric || d.precision < 0));
    if (d.conversion == 0) d.conversion = 'g';
    const Text text =
        as_text ? Cut(Str(in.budget(), *value), d.precision) : Text(FormatNumber(*value, d), Origin::kTemplate);
    Pad(out, text, d, numeric);
    at = close;
    plain = close + 1;
  }
  out.Add(format, plain, bytes.size() - plain);
  return out.Take();
}

}  // namespace prenorm::chat_template
