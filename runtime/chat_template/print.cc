// Python's str and repr.
#include "runtime/chat_template/print.h"

#include <charconv>
#include <cmath>

#include <utf8proc.h>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string Hex(char32_t c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const size_t width = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  std::string out = width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U";
  for (size_t i = width; i > 0; --i) out += kDigits[c >> (4 * (i - 1)) & 15];
  return out;
}

void ReprString(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  const bool double_quoted = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const char quote = double_quoted ? '"' : '\'';
  out.Add(std::string(1, quote));
  size_t plain = 0;  // Where the part begins that needs no escape.
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const char32_t c = NextChar(bytes, &at);
    std::string escaped;
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      escaped = std::string("\\") + static_cast<char>(c);
    } else if (c == '\n') {
      escaped = "\\n";
    } else if (c == '\r') {
      escaped = "\\r";
    } else if (c == '\t') {
      escaped = "\\t";
    } else if (!IsPrintable(c)) {
      escaped = Hex(c);
    } else {
      continue;
    }
    out.Add(text, plain, begin - plain);
    out.Add(escaped, text.OriginAt(begin));
    plain = at;
  }
  out.Add(text, plain, bytes.size() - plain);
  out.Add(std::string(1, quote));
}

void ReprItems(TextBuilder& out, const Values& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.Add(", ");
    ReprTo(out, items[i]);
  }
}

void ReprList(TextBuilder& out, const List& list) {
  if (list.kind == ListKind::kRange || list.kind == ListKind::kGenerator || list.kind == ListKind::kView) {
    TypeError("an iterator was printed; make it a list first");
  }
  const bool tuple = list.kind == ListKind::kTuple;
  out.Add(tuple ? "(" : "[");
  ReprItems(out, list.items);
  out.Add(tuple ? (list.items.size() == 1 ? ",)" : ")") : "]");
}

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  const std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(0, sign.size());
  if (digits.size() > 1) digits.erase(1, 1);  // The point.
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    const int magnitude = std::abs(exponent);
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") + (magnitude < 10 ? "0" : "") +
           std::to_string(magnitude);
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

void ReprTo(TextBuilder& out, const Value& value) {
  if (const Text* text = value.as_text()) {
    if (!text->is_markup()) return ReprString(out, *text);
    out.Add("Markup(");
    ReprString(out, *text);
    return out.Add(")");
  }
  if (const List* list = value.as_list()) return ReprList(out, *list);
  if (const Dict* dict = value.as_dict()) {
    out.Add("{");
    for (size_t i = 0; i < dict->entries.size(); ++i) {
      if (i > 0) out.Add(", ");
      ReprTo(out, dict->entries[i].first);
      out.Add(": ");
      ReprTo(out, dict->entries[i].second);
    }
    return out.Add("}");
  }
  if (value.is_undefined()) return out.Add("Undefined");
  PrintTo(out, value);
}

void PrintTo(TextBuilder& out, const Value& value) {
  if (const Text* text = value.as_text()) return out.Add(*text);
  if (value.is_undefined()) return;
  if (value.is_none()) return out.Add("None");
  if (const bool* b = value.as_bool()) return out.Add(*b ? "True" : "False");
  if (const int64_t* i = value.as_int()) return out.Add(std::to_string(*i));
  if (const double* d = value.as_float()) return out.Add(FloatRepr(*d));
  if (value.as_object() != nullptr) TypeError(std::string("a ") + value.type_name() + " object was printed");
  ReprTo(out, value);
}

Text Str(Budget& budget, const Value& value) {
  if (const Text* text = value.as_text()) {
    budget.Work(text->size());
    return *text;
  }
  TextBuilder out(budget);
  PrintTo(out, value);
  return out.Take();
}

}  // namespace prenorm::chat_template
