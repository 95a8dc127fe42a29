// Filters that make texts or numbers.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "runtime/chat_template/char_case.h"
#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/split.h"
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
  const Value* width = arguments.Find(0, "width");
  const Text prefix =
      width != nullptr && width->is_string()
          ? *width->as_text()
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
  const Text text = TextOf(in, value);
  const Text end = arguments.Find(2, "end") != nullptr ? arguments.String(2, "end") : Text("...", Origin::kTemplate);
  const int64_t length = arguments.Int(0, "length", 255);
  const int64_t end_chars = static_cast<int64_t>(CountChars(end.bytes()));
  if (length < end_chars) TypeError("truncate: expected a length of at least " + std::to_string(end_chars));
  const int64_t leeway = arguments.Int(3, "leeway", 5);
  const List* list = value.as_list();
  const int64_t chars = static_cast<int64_t>(list != nullptr ? list->items.size() : CountChars(text.bytes()));
  if (chars <= length + std::max<int64_t>(0, leeway)) return list != nullptr ? value : Value(text);
  if (list != nullptr) TypeError("truncate needs a string");
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

std::string Stripped(const Text& text) {
  const Range range = TrimSpace(text.bytes(), Side::kBoth);
  std::string out = text.bytes().substr(range.begin, range.end - range.begin);
  if (out.starts_with('+') && out.size() > 1 && out[1] != '-') out.erase(0, 1);
  return out;
}

std::optional<double> ReadFloat(const Text& text) {
  const std::string digits = Stripped(text);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end != digits.data() + digits.size() || digits.empty() || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(digits.c_str(), nullptr);
  return number;
}

Value Truncated(double number, const Value& otherwise) {
  return std::fabs(number) < 9.2e18 ? Value(static_cast<int64_t>(number)) : otherwise;
}

Value Int(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("int", {"default", "base"});
  RequireDefined(value);
  const Value* given = arguments.Find(0, "default");
  const Value otherwise = given != nullptr ? *given : Value(int64_t{0});
  const int64_t base = arguments.Int(1, "base", 10);
  if (const auto integer = value.ToInt()) return Value(*integer);
  if (const double* number = value.as_float()) return Truncated(*number, otherwise);
  const Text* text = value.as_text();
  if (text == nullptr) return otherwise;
  if (base < 2 || base > 36) return otherwise;
  in.budget().Work(2 * text->size());
  std::string digits = Stripped(*text);
  const std::string prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (!prefix.empty() && digits.starts_with(prefix)) digits.erase(0, 2);
  int64_t integer = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), integer, static_cast<int>(base));
  if (error == std::errc() && end == digits.data() + digits.size()) return Value(integer);
  const auto number = ReadFloat(*text);  // "1.5" is 1 in Jinja.
  return number ? Truncated(*number, otherwise) : otherwise;
}

Value Float(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("float", {"default"});
  RequireDefined(value);
  if (value.is_number()) return Value(value.ToDouble());
  const Value* otherwise = arguments.Find(0, "default");
  if (const Text* text = value.as_text()) {
    in.budget().Work(text->size());
    if (const auto number = ReadFloat(*text)) return Value(*number);
  }
  return otherwise != nullptr ? *otherwise : Value(0.0);
}

Value Abs(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("abs", {});
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
  return Value((method == "ceil" ? std::ceil(number * unit) : std::floor(number * unit)) / unit);
}

}  // namespace

const FilterEntry kTextFilters[] = {
    {"abs", Abs},
    {"capitalize", CapitalizeFilter},
    {"center", Center},
    {"e", Escape},
    {"escape", Escape},
    {"float", Float},
    {"forceescape", ForceEscape},
    {"format", Format},
    {"indent", Indent},
    {"int", Int},
    {"lower", Cased<Case::kLower>},
    {"replace", Replace},
    {"round", Round},
    {"safe", Safe},
    {"string", String},
    {"title", Title},
    {"tojson", ToJson},
    {"trim", Trim},
    {"truncate", Truncate},
    {"upper", Cased<Case::kUpper>},
    {"wordcount", WordCount},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
