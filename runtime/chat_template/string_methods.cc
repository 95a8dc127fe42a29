// Methods of strings. All count characters, not bytes.
#include <algorithm>
#include <utf8proc.h>

#include "runtime/chat_template/char_case.h"
#include "runtime/chat_template/format.h"
#include "runtime/chat_template/methods.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/split.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

const Text& Self(const Value& self) { return *self.as_text(); }

Value Part(const Text& text, Range range) { return Value(text.Substr(range.begin, range.end - range.begin)); }

template <Side side>
Value Strip(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("strip", {"chars"});
  const Text& text = Self(self);
  in.budget().Work(text.size());
  const Value* chars = arguments.Find(0, "chars");
  if (chars == nullptr || chars->is_none()) return Part(text, TrimSpace(text.bytes(), side));
  const std::string& dropped = arguments.String(0, "chars").bytes();
  in.budget().Work(16 * dropped.size());
  return Part(text, TrimChars(text.bytes(), dropped, side));
}

template <bool from_right>
Value Split(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("split", {"sep", "maxsplit"});
  const Value* separator = arguments.Find(0, "sep");
  const int64_t limit = arguments.Int(1, "maxsplit", -1);
  const bool space = separator == nullptr || separator->is_none();
  if (!space && arguments.String(0, "sep").empty()) TypeError("empty separator");
  return in.List(
      SplitText(in.budget(), Self(self), space ? "" : arguments.String(0, "sep").bytes(), limit, from_right));
}

Value SplitLines(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("splitlines", {"keepends"});
  return in.List(SplitTextLines(in.budget(), Self(self), arguments.Bool(0, "keepends", false)));
}

template <bool from_right>
Value Partition(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("partition", {"sep"});
  const Text& text = Self(self);
  const Text& separator = arguments.String(0, "sep");
  if (separator.empty()) TypeError("empty separator");
  in.budget().Work(text.size());
  in.budget().Search(text.size(), separator.size());
  const size_t at = from_right ? text.bytes().rfind(separator.bytes()) : text.bytes().find(separator.bytes());
  if (at == std::string::npos) {
    const Value empty{Text()};
    return in.List(from_right ? Values{empty, empty, self} : Values{self, empty, empty}, ListKind::kTuple);
  }
  const size_t behind = at + separator.size();
  return in.List({Part(text, {0, at}), Part(text, {at, behind}), Part(text, {behind, text.size()})}, ListKind::kTuple);
}

// The part of the text that the arguments `start` and `end` choose.
Range Window(Budget& budget, const Text& text, const Arguments& arguments) {
  if (arguments.Find(1, "start") == nullptr && arguments.Find(2, "end") == nullptr) return {0, text.size()};
  budget.Work(text.size());
  const int64_t size = static_cast<int64_t>(CountChars(text.bytes()));
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? (at < -size ? 0 : at + size) : at, 0, size);
  };
  const int64_t begin = clamp(arguments.Int(1, "start", 0));
  const int64_t end = std::max(begin, clamp(arguments.Int(2, "end", size)));
  return {CharOffset(text.bytes(), static_cast<size_t>(begin)), CharOffset(text.bytes(), static_cast<size_t>(end))};
}

std::string_view ViewOf(const Text& text, Range range) {
  return std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
}

template <bool at_start>
Value Affix(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect(at_start ? "startswith" : "endswith", {"affix", "start", "end"});
  const std::string_view view = ViewOf(Self(self), Window(in.budget(), Self(self), arguments));
  const Value& affix = arguments.Get(0, "affix");
  const List* several = affix.as_list();
  const Values choices = several != nullptr && several->kind == ListKind::kTuple ? several->items : Values{affix};
  for (const Value& choice : choices) {
    RequireDefined(choice);
    if (!choice.is_string()) TypeError(std::string("the prefix or suffix must be a string, not ") + choice.type_name());
    const std::string& bytes = choice.as_text()->bytes();
    in.budget().Read(bytes.size());
    if (at_start ? view.starts_with(bytes) : view.ends_with(bytes)) return Value(true);
  }
  in.budget().Step(choices.size());
  return Value(false);
}

template <bool from_right, bool must_be_there>
Value Find(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("find", {"sub", "start", "end"});
  const Text& text = Self(self);
  const Range window = Window(in.budget(), text, arguments);
  const std::string_view view = ViewOf(text, window);
  const std::string& wanted = arguments.String(0, "sub").bytes();
  in.budget().Search(view.size(), wanted.size());
  const size_t at = from_right ? view.rfind(wanted) : view.find(wanted);
  if (at == std::string_view::npos) {
    if (must_be_there) TypeError("substring not found");
    return Value(int64_t{-1});
  }
  return Value(static_cast<int64_t>(CountChars(std::string_view(text.bytes()).substr(0, window.begin + at))));
}

Value Count(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("count", {"sub", "start", "end"});
  const Text& text = Self(self);
  const std::string_view view = ViewOf(text, Window(in.budget(), text, arguments));
  const std::string& wanted = arguments.String(0, "sub").bytes();
  in.budget().Search(view.size(), wanted.size());
  if (wanted.empty()) return Value(static_cast<int64_t>(CountChars(view) + 1));
  int64_t count = 0;
  for (size_t at = view.find(wanted); at != std::string_view::npos; at = view.find(wanted, at + wanted.size())) ++count;
  return Value(count);
}

Value Replace(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("replace", {"old", "new", "count"});
  return Value(ReplaceText(in.budget(), Self(self), arguments.String(0, "old"), arguments.String(1, "new"),
                           arguments.Int(2, "count", -1)));
}

Value Join(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("join", {"iterable"});
  TextBuilder out(in.budget());
  const Values items = in.Iterate(arguments.Get(0, "iterable"));
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string())
      TypeError(std::string("sequence item: expected str instance, ") + items[i].type_name() + " found");
    if (i > 0) out.Add(Self(self));
    out.Add(*items[i].as_text());
  }
  return Value(out.Take());
}

template <Case to>
Value Cased(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("upper", {});
  return Value(ChangeCase(in.budget(), Self(self), to));
}

Value CapitalizeMethod(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("capitalize", {});
  return Value(Capitalize(in.budget(), Self(self)));
}

Value TitleMethod(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("title", {});
  return Value(TitleCase(in.budget(), Self(self)));
}

template <bool at_start>
Value RemoveAffix(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect(at_start ? "removeprefix" : "removesuffix", {"affix"});
  const Text& text = Self(self);
  const std::string& affix = arguments.String(0, "affix").bytes();
  in.budget().Work(text.size());
  if (at_start) return text.bytes().starts_with(affix) ? Part(text, {affix.size(), text.size()}) : self;
  return text.bytes().ends_with(affix) ? Part(text, {0, text.size() - affix.size()}) : self;
}

enum class Place { kLeft, kRight, kCenter, kZeros };

template <Place place>
Value Justify(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("ljust", {"width", "fillchar"});
  const Text& text = Self(self);
  const Text fill = arguments.Find(1, "fillchar") != nullptr
                        ? arguments.String(1, "fillchar")
                        : Text(place == Place::kZeros ? "0" : " ", Origin::kTemplate);
  if (CountChars(fill.bytes()) != 1) TypeError("the fill character must be exactly one character long");
  const int64_t width = arguments.Int(0, "width", 0);
  const int64_t chars = static_cast<int64_t>(CountChars(text.bytes()));
  const size_t missing = width > chars ? static_cast<size_t>(width - chars) : 0;
  size_t left = place == Place::kLeft ? 0 : missing;
  if (place == Place::kCenter) left = missing / 2 + (missing & static_cast<size_t>(width) & 1);  // As Python rounds it.
  const bool sign = place == Place::kZeros && !text.empty() && (text.bytes()[0] == '+' || text.bytes()[0] == '-');
  TextBuilder out(in.budget());
  out.Add(text, 0, sign ? 1 : 0);
  out.Repeat(fill, left);
  out.Add(text, sign ? 1 : 0, text.size() - (sign ? 1 : 0));
  out.Repeat(fill, missing - left);
  return Value(out.Take());
}

// Whether the text is not empty and all its characters are as the name says.
template <bool (*holds)(char32_t)>
Value All(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("is", {});
  const std::string& bytes = Self(self).bytes();
  in.budget().Work(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    if (!holds(NextChar(bytes, &at))) return Value(false);
  }
  return Value(!bytes.empty());
}

bool IsDecimal(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND; }

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsAlphanumeric(char32_t c) { return IsLetter(c) || IsNumeric(c); }

template <bool (*of_case)(char32_t)>
Value IsCased(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("isupper", {});
  in.budget().Work(Self(self).size());
  return Value(IsAll(Self(self).bytes(), of_case));
}

Value IsTitle(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("istitle", {});
  const std::string& bytes = Self(self).bytes();
  in.budget().Work(bytes.size());
  bool within = false;
  bool any = false;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = NextChar(bytes, &at);
    if (within ? IsUpper(c) : IsLower(c)) return Value(false);
    within = IsUpper(c) || IsLower(c);
    any = any || within;
  }
  return Value(any);
}

Value IsAscii(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("isascii", {});
  const std::string& bytes = Self(self).bytes();
  in.budget().Work(bytes.size());
  return Value(std::all_of(bytes.begin(), bytes.end(), [](char c) { return (c & 0x80) == 0; }));
}

Value FormatMethod(Interpreter& in, const Value& self, Arguments& arguments) {
  return Value(BraceFormat(in, Self(self), arguments));
}

}  // namespace

const MethodEntry kStringMethods[] = {
    {"capitalize", CapitalizeMethod},
    {"casefold", Cased<Case::kLower>},
    {"center", Justify<Place::kCenter>},
    {"count", Count},
    {"endswith", Affix<false>},
    {"find", Find<false, false>},
    {"format", FormatMethod},
    {"index", Find<false, true>},
    {"isalnum", All<IsAlphanumeric>},
    {"isalpha", All<IsLetter>},
    {"isascii", IsAscii},
    {"isdecimal", All<IsDecimal>},
    {"isdigit", All<IsDecimal>},
    {"islower", IsCased<IsLower>},
    {"isnumeric", All<IsNumeric>},
    {"isspace", All<IsPythonSpace>},
    {"istitle", IsTitle},
    {"isupper", IsCased<IsUpper>},
    {"join", Join},
    {"ljust", Justify<Place::kLeft>},
    {"lower", Cased<Case::kLower>},
    {"lstrip", Strip<Side::kLeft>},
    {"partition", Partition<false>},
    {"removeprefix", RemoveAffix<true>},
    {"removesuffix", RemoveAffix<false>},
    {"replace", Replace},
    {"rfind", Find<true, false>},
    {"rindex", Find<true, true>},
    {"rjust", Justify<Place::kRight>},
    {"rpartition", Partition<true>},
    {"rsplit", Split<true>},
    {"rstrip", Strip<Side::kRight>},
    {"split", Split<false>},
    {"splitlines", SplitLines},
    {"startswith", Affix<true>},
    {"strip", Strip<Side::kBoth>},
    {"swapcase", Cased<Case::kSwap>},
    {"title", TitleMethod},
    {"upper", Cased<Case::kUpper>},
    {"zfill", Justify<Place::kZeros>},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
