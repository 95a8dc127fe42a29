// Filters that Jinja has for pages: addresses, attributes, tags.
#include <cstdio>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/html_entities.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/split.h"

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
    if (name.find_first_of(" \t\n\v\f\r/>=") != std::string::npos) {
      TypeError("invalid character in the name of an attribute: '" + name + "'");
    }
    if (space || out.size() > 0) out.Add(" ");
    out.Add(AsMarkup(in.budget(), *key.as_text()));
    out.Add("=\"");
    out.Add(AsMarkup(in.budget(), Str(in.budget(), item)));
    out.Add("\"");
  }
  return Value(out.Take());
}

// Without comments and tags; from one that is not closed on, all stays.
Text WithoutTags(Budget& budget, const Text& text) {
  const std::string& bytes = text.bytes();
  budget.Read(bytes.size());
  TextBuilder out(budget);
  size_t done = 0;
  for (size_t begin; (begin = bytes.find('<', done)) != std::string::npos;) {
    const bool comment = bytes.compare(begin, 4, "<!--") == 0;
    const size_t end = comment ? bytes.find("-->", begin + 4) : bytes.find('>', begin);
    if (end == std::string::npos) break;
    out.Add(text, done, begin - done);
    done = end + (comment ? 3 : 1);
  }
  out.Add(text, done, text.size() - done);
  return out.Take();
}

Value StripTags(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("striptags", {});
  const Text text = WithoutTags(in.budget(), Str(in.budget(), value));
  const Values words = SplitText(in.budget(), text, "", -1, false);
  TextBuilder out(in.budget());
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out.Add(" ");
    out.Add(UnescapeHtml(in.budget(), *words[i].as_text()));
  }
  return Value(out.Take());
}

}  // namespace

const FilterEntry kWebFilters[] = {
    {"striptags", StripTags},
    {"urlencode", UrlEncode},
    {"xmlattr", XmlAttr},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
