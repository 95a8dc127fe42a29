// Filters over sequences.
#include <algorithm>
#include <span>

#include "runtime/chat_template/char_case.h"
#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/methods.h"
#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/print.h"
#include "runtime/chat_template/tests.h"

namespace prenorm::chat_template {
namespace {

// "a.b.0" as Jinja's attribute arguments go down: digits are indices.
Value Dig(Interpreter& in, Value value, const Value& path, const Value* otherwise = nullptr) {
  if (!path.is_string()) return in.Subscript(value, path);
  const std::string& names = path.as_text()->bytes();
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('.', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const bool index = !name.empty() && name.size() < 10 &&
                       std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    value = in.Subscript(value, index ? Value(static_cast<int64_t>(std::stoi(name))) : Value::String(name));
    if (otherwise != nullptr && value.is_undefined()) value = *otherwise;
    begin = end + 1;
  }
  return value;
}

// Strings in lower case unless `case_sensitive`, as Jinja compares them.
Value SortKey(Interpreter& in, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return Value(ChangeCase(in.budget(), *value.as_text(), Case::kLower));
}

struct Keyed {
  Value key;
  Value item;
};

// The elements with what they are compared by.
std::vector<Keyed> WithKeys(Interpreter& in, const Value& value, const Value* attribute, bool case_sensitive) {
  std::vector<Keyed> out;
  for (Value& item : in.Iterate(value)) {
    Value key = attribute != nullptr && !attribute->is_none() ? Dig(in, item, *attribute) : item;
    out.push_back({SortKey(in, key, case_sensitive), std::move(item)});
  }
  return out;
}

// The same with attributes parted by commas, whose values make a list: so two that are missing are equal.
std::vector<Keyed> WithKeyLists(Interpreter& in, const Value& value, const Value& attributes, bool case_sensitive) {
  const std::string names = attributes.is_string() ? attributes.as_text()->bytes() : "";
  std::vector<Keyed> out;
  for (Value& item : in.Iterate(value)) {
    Values keys;
    if (!attributes.is_string()) keys.push_back(SortKey(in, Dig(in, item, attributes), case_sensitive));
    for (size_t begin = 0; attributes.is_string() && begin <= names.size();) {
      const size_t end = std::min(names.find(',', begin), names.size());
      keys.push_back(SortKey(in, Dig(in, item, Value::String(names.substr(begin, end - begin))), case_sensitive));
      begin = end + 1;
    }
    out.push_back({in.List(std::move(keys)), std::move(item)});
  }
  return out;
}

void SortKeyed(Interpreter& in, std::vector<Keyed>& items, bool reverse) {
  // A comparison that throws leaves the vector valid. Reversed order keeps equal elements in place, as Python does.
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? Less(in.budget(), b.key, a.key) : Less(in.budget(), a.key, b.key);
  });
}

Values Items(std::vector<Keyed> keyed) {
  Values items;
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return items;
}

Value Length(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("length", {});
  if (value.is_undefined()) return Value(int64_t{0});
  if (const Text* text = value.as_text()) {
    in.budget().Read(text->size());
    return Value(static_cast<int64_t>(CountChars(text->bytes())));
  }
  if (const Dict* dict = value.as_dict()) return Value(static_cast<int64_t>(dict->entries.size()));
  const List* list = value.as_list();
  if (list == nullptr || list->kind == ListKind::kGenerator)
    TypeError(std::string("object of type '") + value.type_name() + "' has no len()");
  return Value(static_cast<int64_t>(list->items.size()));
}

Value First(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("first", {});
  const Values items = in.Iterate(value);
  return items.empty() ? Value::Missing("No first item, sequence was empty.") : items.front();
}

Value Last(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("last", {});
  if (const List* list = value.as_list(); list != nullptr && list->kind == ListKind::kGenerator)
    TypeError("'generator' object is not reversible");
  const Values items = in.Iterate(value);
  return items.empty() ? Value::Missing("No last item, sequence was empty.") : items.back();
}

Value ToList(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("list", {});
  return in.List(in.Iterate(value));
}

Value Join(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("join", {"d", "attribute"});
  const Value* separator = arguments.Find(0, "d");
  const Value* attribute = arguments.Find(1, "attribute");
  const Text between = separator != nullptr ? Str(in.budget(), *separator) : Text();
  TextBuilder out(in.budget());
  bool first = true;
  for (const Value& item : in.Iterate(value)) {
    if (!std::exchange(first, false)) out.Add(between);
    PrintTo(out, attribute != nullptr && !attribute->is_none() ? Dig(in, item, *attribute) : item);
  }
  return Value(out.Take());
}

Value Default(Interpreter&, const Value& value, Arguments& arguments) {
  arguments.Expect("default", {"default_value", "boolean"});
  if (!value.is_undefined() && (!arguments.Bool(1, "boolean", false) || value.Truthy())) return value;
  const Value* otherwise = arguments.Find(0, "default_value");
  return otherwise != nullptr ? *otherwise : Value::String("");
}

// Of a dict only its methods, unlike a dot.
Value Attr(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("attr", {"name"});
  const std::string& name = arguments.String(0, "name").bytes();
  in.budget().Work(name.size());
  if (value.as_dict() == nullptr) return in.Attribute(value, name);
  auto method = FindMethod(value, name);
  return method != nullptr ? std::move(*method) : Value::Missing("'dict object' has no attribute '" + name + "'");
}

Value ItemsFilter(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("items", {});
  if (value.is_undefined()) return in.List({}, ListKind::kGenerator);
  const Dict* dict = value.as_dict();
  if (dict == nullptr) TypeError("Can only get item pairs from a mapping.");
  Values items;
  for (const auto& [key, item] : dict->entries) items.push_back(in.List({key, item}, ListKind::kTuple));
  return in.List(std::move(items), ListKind::kGenerator);
}

Value DictSort(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("dictsort", {"case_sensitive", "by", "reverse"});
  const Dict* dict = value.as_dict();
  if (dict == nullptr) TypeError("dictsort needs a mapping");
  const std::string by = arguments.Find(1, "by") != nullptr ? arguments.String(1, "by").bytes() : "key";
  if (by != "key" && by != "value") TypeError("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> keyed;
  for (const auto& [key, item] : dict->entries) {
    keyed.push_back({SortKey(in, by == "key" ? key : item, arguments.Bool(0, "case_sensitive", false)),
                     in.List({key, item}, ListKind::kTuple)});
  }
  SortKeyed(in, keyed, arguments.Bool(2, "reverse", false));
  return in.List(Items(std::move(keyed)));
}

Value Sort(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("sort", {"reverse", "case_sensitive", "attribute"});
  const Value* attribute = arguments.Find(2, "attribute");
  const bool case_sensitive = arguments.Bool(1, "case_sensitive", false);
  std::vector<Keyed> keyed = attribute != nullptr && !attribute->is_none()
                                 ? WithKeyLists(in, value, *attribute, case_sensitive)
                                 : WithKeys(in, value, nullptr, case_sensitive);
  SortKeyed(in, keyed, arguments.Bool(0, "reverse", false));
  return in.List(Items(std::move(keyed)));
}

Value Unique(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("unique", {"case_sensitive", "attribute"});
  Dict seen;
  Values items;
  for (Keyed& entry : WithKeys(in, value, arguments.Find(1, "attribute"), arguments.Bool(0, "case_sensitive", false))) {
    if (seen.Find(in.budget(), entry.key) != nullptr) continue;
    seen.Set(in.budget(), entry.key, Value());
    items.push_back(std::move(entry.item));
  }
  return in.List(std::move(items), ListKind::kGenerator);
}

Value Reverse(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("reverse", {});
  if (const Text* text = value.as_text()) return Slice(in.budget(), Value(*text), Value(), Value(), Value(int64_t{-1}));
  Values items = in.Iterate(value);
  std::reverse(items.begin(), items.end());
  return in.List(std::move(items), ListKind::kGenerator);
}

template <bool largest>
Value Extreme(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect(largest ? "max" : "min", {"case_sensitive", "attribute"});
  const std::vector<Keyed> keyed =
      WithKeys(in, value, arguments.Find(1, "attribute"), arguments.Bool(0, "case_sensitive", false));
  if (keyed.empty()) return Value::Missing("No aggregated item, sequence was empty.");
  const Keyed* best = &keyed[0];
  for (const Keyed& entry : std::span(keyed).subspan(1)) {
    if (largest ? Less(in.budget(), best->key, entry.key) : Less(in.budget(), entry.key, best->key)) best = &entry;
  }
  return best->item;
}

Value Sum(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("sum", {"attribute", "start"});
  const Value* attribute = arguments.Find(0, "attribute");
  const Value* start = arguments.Find(1, "start");
  Value sum = start != nullptr ? *start : Value(int64_t{0});
  if (sum.is_string()) TypeError("sum() can't sum strings");
  for (const Value& item : in.Iterate(value)) {
    sum = Arithmetic(in.budget(), Operator::kAdd, sum,
                     attribute != nullptr && !attribute->is_none() ? Dig(in, item, *attribute) : item);
  }
  return sum;
}

Value Batch(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("batch", {"linecount", "fill_with"});
  const int64_t count = arguments.Int(0, "linecount", 0);
  if (count < 1) TypeError("batch needs a positive number");
  const Value* fill = arguments.Find(1, "fill_with");
  Values rows;
  Values row;
  for (Value& item : in.Iterate(value)) {
    if (row.size() == static_cast<size_t>(count)) rows.push_back(in.List(std::exchange(row, {})));
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    while (fill != nullptr && !fill->is_none() && row.size() < static_cast<size_t>(count)) {
      in.budget().Step();
      row.push_back(*fill);
    }
    rows.push_back(in.List(std::move(row)));
  }
  return in.List(std::move(rows), ListKind::kGenerator);
}

Value SliceFilter(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("slice", {"slices", "fill_with"});
  const int64_t wanted = arguments.Int(0, "slices", 0);
  if (wanted == 0) TypeError("slice needs a number of slices");
  if (wanted < 0) return in.List({}, ListKind::kGenerator);
  const size_t limit = in.budget().limits().range_items;
  if (static_cast<uint64_t>(wanted) > limit) Budget::Exceeded("slices", limit);
  const Value* fill = arguments.Find(1, "fill_with");
  const Values items = in.Iterate(value);
  const size_t slices = static_cast<size_t>(wanted);
  const size_t longer = items.size() % slices;  // The first ones have one element more.
  Values out;
  for (size_t i = 0, begin = 0; i < slices; ++i) {
    const size_t end = begin + items.size() / slices + (i < longer ? 1 : 0);
    Values slice(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end));
    if (fill != nullptr && !fill->is_none() && i >= longer) slice.push_back(*fill);
    out.push_back(in.List(std::move(slice)));
    begin = end;
  }
  return in.List(std::move(out), ListKind::kGenerator);
}

Value GroupBy(Interpreter& in, const Value& value, Arguments& arguments) {
  arguments.Expect("groupby", {"attribute", "default", "case_sensitive"});
  const Value& attribute = arguments.Get(0, "attribute");
  const Value* given = arguments.Find(1, "default");
  const Value* otherwise = given != nullptr && !given->is_none() ? given : nullptr;
  const bool case_sensitive = arguments.Bool(2, "case_sensitive", false);
  const auto key_of = [&](const Value& item) {
    return attribute.is_none() ? item : Dig(in, item, attribute, otherwise);
  };
  std::vector<Keyed> keyed;
  for (Value& item : in.Iterate(value)) {
    Value key = SortKey(in, key_of(item), case_sensitive);
    keyed.push_back({std::move(key), std::move(item)});
  }
  SortKeyed(in, keyed, false);
  Values groups;
  for (size_t begin = 0, end = 0; begin < keyed.size(); begin = end) {
    Values members;
    for (; end < keyed.size() && Equal(in.budget(), keyed[begin].key, keyed[end].key); ++end) {
      members.push_back(std::move(keyed[end].item));
    }
    // Without regard to case a group is named as its first member has it.
    Value grouper = case_sensitive ? keyed[begin].key : key_of(members[0]);
    groups.push_back(MakeGroup(in.budget(), std::move(grouper), in.List(std::move(members))));
  }
  return in.List(std::move(groups));
}

// Filters and tests that another filter applies are named by strings, so they are looked up only now.
const Text& NameArgument(const Arguments& arguments, size_t index) {
  if (index >= arguments.positional.size() || !arguments.positional[index].is_string())
    TypeError("expected the name of a filter or test");
  return *arguments.positional[index].as_text();
}

Arguments Rest(const Arguments& arguments, size_t from) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(from), arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Value Map(Interpreter& in, const Value& value, Arguments& arguments) {
  Values out;
  if (!value.Truthy()) return in.List(std::move(out), ListKind::kGenerator);  // None too, as in Jinja.
  if (arguments.positional.empty()) {
    arguments.Expect("map", {"attribute", "default"});
    const Value& attribute = arguments.Get(0, "attribute");
    const Value* otherwise = arguments.Find(1, "default");
    for (Value& item : in.Iterate(value)) out.push_back(Dig(in, std::move(item), attribute, otherwise));
    return in.List(std::move(out), ListKind::kGenerator);
  }
  const std::string& name = NameArgument(arguments, 0).bytes();
  const FilterEntry* filter = FindFilter(name);
  if (filter == nullptr) throw TemplateError(UnknownFilter(name), ErrorKind::kUnsupported);
  const Budget::Nested nested(in.budget());  // A filter may map over a filter that maps.
  for (const Value& item : in.Iterate(value)) {
    Arguments rest = Rest(arguments, 1);
    out.push_back(filter->apply(in, item, rest));
  }
  return in.List(std::move(out), ListKind::kGenerator);
}

template <bool keep, bool by_attribute>
Value Select(Interpreter& in, const Value& value, Arguments& arguments) {
  constexpr size_t kTestIndex = by_attribute ? 1 : 0;
  if (!value.Truthy()) return in.List({}, ListKind::kGenerator);
  if (by_attribute && arguments.positional.empty()) TypeError("missing the name of an attribute");
  const TestEntry* test = nullptr;
  if (arguments.positional.size() > kTestIndex) {
    const std::string& name = NameArgument(arguments, kTestIndex).bytes();
    test = FindTest(name);
    if (test == nullptr) throw TemplateError(UnknownTest(name), ErrorKind::kUnsupported);
  }
  const Budget::Nested nested(in.budget());
  Values out;
  for (Value& item : in.Iterate(value)) {
    const Value subject = by_attribute ? Dig(in, item, arguments.positional[0]) : item;
    Arguments rest = test != nullptr ? Rest(arguments, kTestIndex + 1) : Arguments();
    if ((test != nullptr ? test->holds(in, subject, rest) : subject.Truthy()) == keep) out.push_back(std::move(item));
  }
  return in.List(std::move(out), ListKind::kGenerator);
}

}  // namespace

const FilterEntry kListFilters[] = {
    {"attr", Attr},
    {"batch", Batch},
    {"count", Length},
    {"d", Default},
    {"default", Default},
    {"dictsort", DictSort},
    {"first", First},
    {"groupby", GroupBy},
    {"items", ItemsFilter},
    {"join", Join},
    {"last", Last},
    {"length", Length},
    {"list", ToList},
    {"map", Map},
    {"max", Extreme<true>},
    {"min", Extreme<false>},
    {"reject", Select<false, false>},
    {"rejectattr", Select<false, true>},
    {"reverse", Reverse},
    {"select", Select<true, false>},
    {"selectattr", Select<true, true>},
    {"slice", SliceFilter},
    {"sort", Sort},
    {"sum", Sum},
    {"unique", Unique},
    {"", nullptr},
};

}  // namespace prenorm::chat_template
