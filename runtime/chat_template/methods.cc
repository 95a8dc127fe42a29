// Methods of dicts and lists, and which methods there are.
#include "runtime/chat_template/methods.h"

#include <algorithm>
#include <array>

#include "runtime/chat_template/objects.h"

namespace prenorm::chat_template {
namespace {

Value DictGet(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("get", {"key", "default"});
  if (!arguments.named.empty()) TypeError("get() takes no keyword arguments");
  const Value& key = arguments.Get(0, "key");
  if (const Value* value = self.as_dict()->Find(in.budget(), key)) return *value;
  const Value* otherwise = arguments.Find(1, "default");
  return otherwise != nullptr ? *otherwise : Value();
}

Value DictItems(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("items", {});
  Values items;
  for (const auto& [key, value] : self.as_dict()->entries) items.push_back(in.List({key, value}, ListKind::kTuple));
  return in.List(std::move(items), ListKind::kView);
}

Value DictKeys(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("keys", {});
  return in.List(in.Iterate(self), ListKind::kView);
}

Value DictValues(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("values", {});
  Values values;
  for (const auto& [key, value] : self.as_dict()->entries) values.push_back(value);
  return in.List(std::move(values), ListKind::kView);
}

Value ListCopy(Interpreter&, const Value& self, Arguments& arguments) {
  arguments.Expect("copy", {});
  return self;
}

Value ListCount(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("count", {"value"});
  const Value& wanted = arguments.Get(0, "value");
  const Values& items = self.as_list()->items;
  return Value(static_cast<int64_t>(
      std::count_if(items.begin(), items.end(), [&](const Value& item) { return Equal(in.budget(), item, wanted); })));
}

Value ListIndex(Interpreter& in, const Value& self, Arguments& arguments) {
  arguments.Expect("index", {"value"});
  const Value& wanted = arguments.Get(0, "value");
  const Values& items = self.as_list()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (Equal(in.budget(), items[i], wanted)) return Value(static_cast<int64_t>(i));
  }
  TypeError("the value is not in the list");
}

constexpr MethodEntry kDictMethods[] = {
    {"get", DictGet}, {"items", DictItems}, {"keys", DictKeys}, {"values", DictValues}, {"copy", ListCopy}};
constexpr MethodEntry kListMethods[] = {{"copy", ListCopy}, {"count", ListCount}, {"index", ListIndex}};
constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
// Of strings, dicts and numbers.
constexpr std::array<std::string_view, 9> kUnsupported = {"encode",    "expandtabs",   "format_map",
                                                          "fromkeys",  "isidentifier", "isprintable",
                                                          "maketrans", "translate",    "as_integer_ratio"};

template <typename Table>
Native FindIn(const Table& table, std::string_view name) {
  for (const MethodEntry& entry : table) {
    if (entry.name == name) return entry.call;
  }
  return nullptr;
}

template <typename Names>
bool Holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool IsUnsupportedMethod(std::string_view name) { return Holds(kUnsupported, name); }

std::unique_ptr<Value> FindMethod(const Value& subject, std::string_view name) {
  Native native = nullptr;
  bool changes = false;
  if (subject.is_string()) {
    for (const MethodEntry* entry = kStringMethods; entry->call != nullptr && native == nullptr; ++entry) {
      if (entry->name == name) native = entry->call;
    }
  } else if (subject.as_dict() != nullptr) {
    native = FindIn(kDictMethods, name);
    changes = Holds(kDictChanges, name);
  } else if (const List* list = subject.as_list()) {
    const bool plain = list->kind == ListKind::kList;
    if (plain || ((list->kind == ListKind::kTuple || list->kind == ListKind::kRange) && name != "copy"))
      native = FindIn(kListMethods, name);
    changes = plain && Holds(kListChanges, name);
  }
  if (changes) {
    return std::make_unique<Value>(Value::Missing("access to attribute '" + std::string(name) + "' of '" +
                                                  subject.type_name() + "' object is unsafe."));
  }
  if (native == nullptr) return nullptr;
  return std::make_unique<Value>(ObjectPtr(std::make_shared<Function>(native, subject)));
}

}  // namespace prenorm::chat_template
