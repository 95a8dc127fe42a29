// JSON in both directions: json.dumps as transformers calls it, and the caller's JSON.
#include "runtime/chat_template/json.h"

#include <algorithm>
#include <cmath>

#include <simdjson.h>

#include "runtime/chat_template/print.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string UnicodeEscape(char32_t c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto unit = [](char32_t u) {
    std::string out = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[u >> shift & 15];
    return out;
  };
  if (c < 0x10000) return unit(c);
  return unit(0xD800 + ((c - 0x10000) >> 10)) + unit(0xDC00 + ((c - 0x10000) & 0x3FF));
}

class Writer {
 public:
  Writer(Budget& budget, TextBuilder& out, const JsonStyle& style) : budget_(budget), out_(out), style_(style) {}

  void Write(const Value& value) {
    if (const Text* text = value.as_text()) return WriteString(*text);
    if (const List* list = value.as_list();
        list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple)) {
      return WriteList(*list);
    }
    if (const Dict* dict = value.as_dict()) return WriteDict(*dict);
    if (value.is_none() || value.is_number()) return out_.Add(Scalar(value));
    TypeError(std::string("Object of type ") + value.type_name() + " is not JSON serializable");
  }

 private:
  static std::string Scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* b = value.as_bool()) return *b ? "true" : "false";
    if (const int64_t* i = value.as_int()) return std::to_string(*i);
    const double number = *value.as_float();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return FloatRepr(number);
  }

  void WriteString(const Text& text) {
    const std::string& bytes = text.bytes();
    out_.Add("\"");
    size_t plain = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t begin = at;
      const char32_t c = NextChar(bytes, &at);
      std::string escaped;
      switch (c) {
        case '"':
          escaped = "\\\"";
          break;
        case '\\':
          escaped = "\\\\";
          break;
        case '\n':
          escaped = "\\n";
          break;
        case '\r':
          escaped = "\\r";
          break;
        case '\t':
          escaped = "\\t";
          break;
        case '\b':
          escaped = "\\b";
          break;
        case '\f':
          escaped = "\\f";
          break;
        default:
          if (c >= 0x20 && (c < 0x7F || !style_.ensure_ascii)) continue;
          escaped = UnicodeEscape(c);
      }
      out_.Add(text, plain, begin - plain);
      out_.Add(escaped, text.OriginAt(begin));
      plain = at;
    }
    out_.Add(text, plain, bytes.size() - plain);
    out_.Add("\"");
  }

  void NewLine() {
    if (!style_.indent) return;
    out_.Add("\n");
    for (size_t i = 0; i < level_; ++i) out_.Add(*style_.indent);
  }

  void WriteList(const List& list) {
    if (list.items.empty()) return out_.Add("[]");
    out_.Add("[");
    ++level_;
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.Add(style_.item_separator);
      NewLine();
      Write(list.items[i]);
    }
    --level_;
    NewLine();
    out_.Add("]");
  }

  void WriteKey(const Value& key) {
    if (const Text* text = key.as_text()) return WriteString(*text);
    if (!key.is_none() && !key.is_number()) {
      TypeError(std::string("keys must be str, int, float, bool or None, not ") + key.type_name());
    }
    out_.Add("\"" + Scalar(key) + "\"");
  }

  void WriteDict(const Dict& dict) {
    if (dict.entries.empty()) return out_.Add("{}");
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [this](const auto* a, const auto* b) { return Less(budget_, a->first, b->first); });
    }
    out_.Add("{");
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.Add(style_.item_separator);
      NewLine();
      WriteKey(entries[i]->first);
      out_.Add(style_.key_separator);
      Write(entries[i]->second);
    }
    --level_;
    NewLine();
    out_.Add("}");
  }

  Budget& budget_;
  TextBuilder& out_;
  const JsonStyle& style_;
  size_t level_ = 0;
};

Value Convert(Budget& budget, const element& json, size_t depth) {
  if (depth > budget.limits().value_depth)
    Budget::Exceeded("lists and dicts inside each other", budget.limits().value_depth);
  switch (json.type()) {
    case element_type::ARRAY: {
      Values items;
      const simdjson::dom::array array = json.get_array().value_unsafe();
      for (const element item : array) items.push_back(Convert(budget, item, depth + 1));
      return MakeList(budget, std::move(items));
    }
    case element_type::OBJECT: {
      Dict dict;
      const simdjson::dom::object object = json.get_object().value_unsafe();
      for (const auto& [key, item] : object) {
        dict.Set(budget, Value::String(key, Origin::kData), Convert(budget, item, depth + 1));
      }
      return MakeDict(budget, std::move(dict));
    }
    case element_type::INT64:
      return Value(int64_t{json.get_int64().value_unsafe()});
    case element_type::UINT64:
      throw TemplateError("integers beyond 63 bits are not supported", ErrorKind::kUnsupported);
    case element_type::DOUBLE:
      return Value(json.get_double().value_unsafe());
    case element_type::STRING: {
      const std::string_view text = json.get_string().value_unsafe();
      budget.Work(text.size());
      return Value::String(text, Origin::kData);
    }
    case element_type::BOOL:
      return Value(json.get_bool().value_unsafe());
    default:  // Null. Kinds of newer simdjson (numbers beyond 64 bits) do not occur: its parser refuses them here.
      break;
  }
  return Value();
}

}  // namespace

void JsonTo(Budget& budget, TextBuilder& out, const Value& value, const JsonStyle& style) {
  Writer(budget, out, style).Write(value);
}

Result<Value> ParseJson(Budget& budget, std::string_view json, const std::string& what) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  element root;
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    return Status(StatusCode::kInvalidArgument, what + ": this is no JSON\n" + simdjson::error_message(error) +
                                                    "\nGive one JSON value, as {\"name\": true}.");
  }
  return Convert(budget, root, 1);
}

}  // namespace prenorm::chat_template
