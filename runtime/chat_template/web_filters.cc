// Filters that Jinja has for pages: addresses, attributes, tags, sizes; and the wrapping of lines.
#include <cmath>
#include <cstdio>
#include <optional>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/split.h"
#include "runtime/chat_template/wordwrap.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

bool IsAsciiAlnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Percent-encoding; in queries a space is "+" and "/" is encoded too.
void Quote(const Text& text, bool query, TextBuilder& out) {
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    if (IsAsciiAlnum(c) || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query)) {
      out.Add(text, at, 1);
    } else if (c == ' ' && query) {
      out.Add("+", text.OriginAt(at));
    } else {
      char code[4];
      std::snprintf(code, sizeof(code), "%%%02X", static_cast<unsigned char>(c));
      out.Add(code, text.OriginAt(at));
    }
  }
}

Value UrlEncode(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("urlencode", {});
  TextBuilder out(in.budget());
  const bool pairs = value.as_dict() != nullptr || value.as_list() != nullptr;
  if (!pairs) {
    Quote(Str(in.budget(), value), false, out);
    return Value(out.Take());
  }
  Values items;
  if (const Dict* dict = value.as_dict()) {
    for (const auto& [key, item] : dict->entries) items.push_back(in.List({key, item}));
  } else {
    items = in.Iterate(value);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const Values pair = in.Iterate(items[i]);
    if (pair.size() != 2) TypeError("expected pairs of key and value");
    if (i > 0) out.Add("&");
    Quote(Str(in.budget(), pair[0]), true, out);
    out.Add("=");
    Quote(Str(in.budget(), pair[1]), true, out);
  }
  return Value(out.Take());
}

Value XmlAttr(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("xmlattr", {"autospace"});
  const Dict* dict = value.as_dict();
  if (dict == nullptr) TypeError("xmlattr needs a mapping");
  const bool space = arguments.Bool(0, "autospace", true);
  TextBuilder out(in.budget());
  for (const auto& [key, item] : dict->entries) {
    if (item.is_none() || item.is_undefined()) continue;
    if (!key.is_string()) TypeError("names of attributes must be strings");
    const std::string& name = key.as_text()->bytes();
    for (size_t at = 0; at < name.size();) {
      const char32_t c = NextChar(name, &at);
      if (IsPythonSpace(c) || c == '/' || c == '>' || c == '=') {
        TypeError("invalid character in the name of an attribute: '" + name + "'");
      }
    }
    if (space || out.size() > 0) out.Add(" ");
    out.Add(AsMarkup(in.budget(), *key.as_text()));
    out.Add("=\"");
    out.Add(AsMarkup(in.budget(), Str(in.budget(), item)));
    out.Add("\"");
  }
  return Value(out.Take());
}

// Without what stands between `open` and the next `close`, both included; what is not closed stays.
Text WithoutSpans(Interpreter& in, const Text& text, std::string_view open, std::string_view close) {
  TextBuilder out(in.budget());
  size_t done = 0;
  for (size_t begin; (begin = text.bytes().find(open, done)) != std::string::npos;) {
    const size_t end = text.bytes().find(close, begin);
    if (end == std::string::npos) break;
    out.Add(text, done, begin - done);
    done = end + close.size();
  }
  out.Add(text, done, text.size() - done);
  return out.Take();
}

// The character of "&name;" or "&#number;" at `at`, and its bytes in `size`; nothing where there is none.
std::optional<std::string> EntityAt(const std::string& text, size_t at, size_t* size) {
  size_t end = at + 1;
  while (end < text.size() && (IsAsciiAlnum(text[end]) || (text[end] == '#' && end == at + 1))) ++end;
  const bool closed = end < text.size() && text[end] == ';';
  const std::string name = text.substr(at + 1, end - at - 1);
  *size = end - at + (closed ? 1 : 0);
  if (name.starts_with('#')) {
    const bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
    const std::string digits = name.substr(hex ? 2 : 1);
    uint32_t number = 0;
    for (const char c : digits) {
      const int digit = c >= '0' && c <= '9'                        ? c - '0'
                        : hex && (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                    : -1;
      if (digit < 0 || number > 0x10FFFF) return std::nullopt;
      number = number * (hex ? 16 : 10) + static_cast<uint32_t>(digit);
    }
    const bool usual = number >= 0xA0 || (number >= 0x20 && number < 0x7F) || number == '\t' || number == '\n';
    if (digits.empty() || !usual || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return std::nullopt;
    std::string character;
    AppendUtf8(static_cast<char32_t>(number), &character);
    return character;
  }
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"nbsp", "\xC2\xA0"}, {"apos", "'"}};
  for (const auto& [known, character] : kNames) {
    if (name == known && (closed || name != "apos")) return std::string(character);
  }
  if (closed && !name.empty()) {
    throw TemplateError("striptags: the entity &" + name + "; is not supported; these are: amp lt gt quot nbsp apos",
                        ErrorKind::kUnsupported);
  }
  return std::nullopt;
}

Value StripTags(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("striptags", {});
  Text text = WithoutSpans(in, Str(in.budget(), value), "<!--", "-->");
  text = WithoutSpans(in, text, "<", ">");
  const Values words = SplitText(in.budget(), text, "", -1, false);
  TextBuilder out(in.budget());
  for (size_t i = 0; i < words.size(); ++i) {
    const Text& word = *words[i].as_text();
    if (i > 0) out.Add(" ");
    for (size_t at = 0; at < word.size();) {
      size_t size = 1;
      const auto character = word.bytes()[at] == '&' ? EntityAt(word.bytes(), at, &size) : std::nullopt;
      if (character)
        out.Add(*character, word.OriginAt(at));
      else
        out.Add(word, at, size = 1);
      at += size;
    }
  }
  return Value(out.Take());
}

Value FileSizeFormat(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("filesizeformat", {"binary"});
  Arguments otherwise;
  otherwise.positional.push_back(Value());  // For what is no number.
  const Value number = FindFilter("float")->apply(in, value, otherwise);
  if (number.is_none()) TypeError("filesizeformat needs a number");
  const double bytes = number.ToDouble();
  const bool binary = arguments.Bool(0, "binary", false);
  const double base = binary ? 1024 : 1000;
  if (!std::isfinite(bytes)) TypeError("filesizeformat needs a number");
  if (bytes == 1) return Value::String("1 Byte");
  char buffer[400];
  if (bytes < base) {
    std::snprintf(buffer, sizeof(buffer), "%.0f Bytes", std::trunc(bytes));
    return Value::String(buffer);
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  size_t power = 0;
  double unit = base * base;
  for (; power + 1 < kPrefixes.size() && bytes >= unit; ++power) unit *= base;
  const char prefix = binary && power == 0 ? 'K' : kPrefixes[power];
  std::snprintf(buffer, sizeof(buffer), "%.1f %c%s", base * bytes / unit, prefix, binary ? "iB" : "B");
  return Value::String(buffer);
}

Value WordWrap(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("wordwrap", {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  if (!value.is_string()) TypeError("wordwrap needs a string");
  const int64_t width = arguments.Int(0, "width", 79);
  if (width < 1) TypeError("wordwrap needs a positive width");
  const Value* given = arguments.Find(2, "wrapstring");
  const bool newline = given == nullptr || given->is_none();
  const Text between = newline ? Text("\n", Origin::kTemplate) : arguments.String(2, "wrapstring");
  const WrapStyle style{static_cast<size_t>(width), arguments.Bool(1, "break_long_words", true),
                        arguments.Bool(3, "break_on_hyphens", true)};
  TextBuilder out(in.budget());
  const Values lines = SplitTextLines(in.budget(), Str(in.budget(), value), false);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].as_text();
    if (i > 0) out.Add(between);
    const std::vector<Range> parts = WrapLine(in.budget(), line.bytes(), style);
    for (size_t p = 0; p < parts.size(); ++p) {
      if (p > 0) out.Add(between);
      out.Add(line, parts[p].begin, parts[p].end - parts[p].begin);
    }
  }
  return Value(out.Take());
}

}  // namespace

const FilterEntry kWebFilters[] = {
    {"filesizeformat", FileSizeFormat},
    {"striptags", StripTags},
    {"urlencode", UrlEncode},
    {"wordwrap", WordWrap},
    {"xmlattr", XmlAttr},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
