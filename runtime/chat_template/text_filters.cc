// Filters that make texts.
#include <algorithm>

#include "runtime/chat_template/char_case.h"
#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/split.h"
#include "runtime/chat_template/wordwrap.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

Text TextOf(Interpreter& in, const Value& value) { return Str(in.budget(), value); }

Value Trim(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("trim", {"chars"});
  const Text text = TextOf(in, value);
  const Value* chars = arguments.Find(0, "chars");
  const bool space = chars == nullptr || chars->is_none();
  if (!space) in.budget().Work(16 * arguments.String(0, "chars").size());
  const Range range = space ? TrimSpace(text.bytes(), Side::kBoth)
                            : TrimChars(text.bytes(), arguments.String(0, "chars").bytes(), Side::kBoth);
  return LikeMarkup(value, Value(text.Substr(range.begin, range.end - range.begin)));
}

template <Case to>
Value Cased(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("upper", {});
  return LikeMarkup(value, Value(ChangeCase(in.budget(), TextOf(in, value), to)));
}

Value CapitalizeFilter(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("capitalize", {});
  return LikeMarkup(value, Value(Capitalize(in.budget(), TextOf(in, value))));
}

Value Title(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("title", {});
  return Value(TitleWords(in.budget(), TextOf(in, value)));
}

Value String(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("string", {});
  return value.is_string() ? value : Value(TextOf(in, value));
}

Value Replace(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("replace", {"old", "new", "count"});
  return Value(ReplaceText(in.budget(), TextOf(in, value), TextOf(in, arguments.Get(0, "old")),
                           TextOf(in, arguments.Get(1, "new")), arguments.Int(2, "count", -1)));
}

Value Escape(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("escape", {});
  return Value(AsMarkup(in.budget(), TextOf(in, value)));
}

Value ForceEscape(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("forceescape", {});
  return Value(EscapeHtml(in.budget(), TextOf(in, value)));
}

Value Safe(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("safe", {});
  Text text = TextOf(in, value);
  text.set_markup(true);
  return Value(std::move(text));
}

Value Indent(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("indent", {"width", "first", "blank"});
  RequireDefined(value);
  if (!value.is_string()) TypeError("indent needs a string");
  const Value* width = arguments.Find(0, "width");
  const Text* given = width == nullptr ? nullptr : width->as_text();
  const Text prefix =
      given != nullptr
          ? *given
          : *Arithmetic(in.budget(), Operator::kMul, Value::String(" "), Value(arguments.Int(0, "width", 4))).as_text();
  const bool blank = arguments.Bool(2, "blank", false);
  TextBuilder source(in.budget());
  source.Add(TextOf(in, value));
  source.Add("\n");  // As Jinja does, so that a last empty line is one.
  const Text text = source.Take();
  const Values lines = SplitTextLines(in.budget(), text, false);
  TextBuilder out(in.budget());
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].as_text();
    if (i > 0) out.Add("\n");
    if (i == 0 ? arguments.Bool(1, "first", false) : blank || !line.empty()) out.Add(prefix);
    out.Add(line);
  }
  return Value(out.Take());
}

Value Center(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("center", {"width"});
  const Value text(TextOf(in, value));
  Arguments width;
  width.positional.push_back(Value(arguments.Int(0, "width", 80)));
  return in.Call(in.Attribute(text, "center"), width);
}

Value Truncate(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("truncate", {"length", "killwords", "end", "leeway"});
  const List* list = value.as_list();
  const Dict* dict = value.as_dict();
  if (!value.is_string() && !value.is_undefined() && list == nullptr && dict == nullptr)
    TypeError(std::string("object of type '") + value.type_name() + "' has no len()");
  const Text text = value.is_string() ? TextOf(in, value) : Text();
  const Text end = arguments.Find(2, "end") != nullptr ? arguments.String(2, "end") : Text("...", Origin::kTemplate);
  const int64_t length = arguments.Int(0, "length", 255);
  const int64_t end_chars = static_cast<int64_t>(CountChars(end.bytes()));
  if (length < end_chars) TypeError("truncate: expected a length of at least " + std::to_string(end_chars));
  const int64_t leeway = arguments.Int(3, "leeway", 5);
  const int64_t chars = static_cast<int64_t>(list != nullptr   ? list->items.size()
                                             : dict != nullptr ? dict->entries.size()
                                                               : CountChars(text.bytes()));
  if (chars <= length + std::max<int64_t>(0, leeway)) return value;
  if (!value.is_string()) TypeError("truncate needs a string");
  size_t cut = CharOffset(text.bytes(), static_cast<size_t>(length - end_chars));
  if (!arguments.Bool(1, "killwords", false)) {
    const size_t space = text.bytes().substr(0, cut).rfind(' ');
    if (space != std::string::npos) cut = space;
  }
  TextBuilder out(in.budget());
  out.Add(text, 0, cut);
  out.Add(end);
  return Value(out.Take());
}

Value Format(Interpreter& in, const Value& value, Arguments& arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty())
    TypeError("can't handle positional and keyword arguments at the same time");
  Value values = in.List(arguments.positional, ListKind::kTuple);
  if (!arguments.named.empty()) {
    Dict dict;
    for (const auto& [name, item] : arguments.named) dict.Set(in.budget(), Value::String(name), item);
    values = MakeDict(in.budget(), std::move(dict));
  }
  return Arithmetic(in.budget(), Operator::kMod, value.is_string() ? value : Value(TextOf(in, value)), values);
}

Value WordCount(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("wordcount", {});
  const Text text = TextOf(in, value);
  int64_t words = 0;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = NextChar(text.bytes(), &at);
    const bool word = IsPythonWord(c);
    words += word && !within ? 1 : 0;
    within = word;
  }
  return Value(words);
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

Value ToJson(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = arguments.Bool(0, "ensure_ascii", false);
  style.sort_keys = arguments.Bool(3, "sort_keys", false);
  if (const Value* indent = arguments.Find(1, "indent"); indent != nullptr && !indent->is_none()) {
    if (const Text* text = indent->as_text()) {
      in.budget().Work(text->size());
      style.indent = text->bytes();
    } else {
      const int64_t width = arguments.Int(1, "indent", 0);
      if (width > 1000) Budget::Exceeded("spaces of indentation", 1000);
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    style.item_separator = ",";
  }
  if (const Value* separators = arguments.Find(2, "separators"); separators != nullptr && !separators->is_none()) {
    const Values both = in.Iterate(*separators);
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string()) TypeError("separators must be two strings");
    in.budget().Work(both[0].as_text()->size() + both[1].as_text()->size());
    style.item_separator = both[0].as_text()->bytes();
    style.key_separator = both[1].as_text()->bytes();
  }
  TextBuilder out(in.budget());
  JsonTo(in.budget(), out, value, style);
  return Value(out.Take());
}

}  // namespace

const FilterEntry kTextFilters[] = {
    {"capitalize", CapitalizeFilter},
    {"center", Center},
    {"e", Escape},
    {"escape", Escape},
    {"forceescape", ForceEscape},
    {"format", Format},
    {"indent", Indent},
    {"lower", Cased<Case::kLower>},
    {"replace", Replace},
    {"safe", Safe},
    {"string", String},
    {"title", Title},
    {"tojson", ToJson},
    {"trim", Trim},
    {"truncate", Truncate},
    {"upper", Cased<Case::kUpper>},
    {"wordcount", WordCount},
    {"wordwrap", WordWrap},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
