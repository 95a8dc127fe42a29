// Truth, equality, order and keys of values.
#include "runtime/chat_template/value.h"

#include <algorithm>
#include <cmath>

#include "runtime/chat_template/print.h"

namespace prenorm::chat_template {

namespace {

constexpr size_t kMaxKeyBytes = size_t{1} << 20;  // Tuples of shared tuples would grow without end.

bool SameSequenceType(const List& a, const List& b) { return a.kind == b.kind && a.kind != ListKind::kGenerator; }

}  // namespace

std::unique_ptr<Value> Object::Attribute(Interpreter&, std::string_view) { return nullptr; }

Value Object::Call(Interpreter&, Arguments&) { TypeError(std::string("'") + type_name() + "' object is not callable"); }

void TypeError(const std::string& message) { throw TemplateError(message); }

void RequireDefined(const Value& value) {
  if (const Undefined* undefined = value.as_undefined()) throw TemplateError(*undefined->reason);
}

double Value::ToDouble() const {
  if (const bool* b = as_bool()) return *b ? 1.0 : 0.0;
  if (const int64_t* i = as_int()) return static_cast<double>(*i);
  return *as_float();
}

std::optional<int64_t> Value::ToInt() const {
  if (const bool* b = as_bool()) return *b ? 1 : 0;
  if (const int64_t* i = as_int()) return *i;
  return std::nullopt;
}

size_t Value::depth() const {
  if (const List* list = as_list()) return list->depth;
  if (const Dict* dict = as_dict()) return dict->depth;
  if (const Object* object = as_object()) return object->depth();
  return 0;
}

bool Value::Truthy() const {
  if (const bool* b = as_bool()) return *b;
  if (const int64_t* i = as_int()) return *i != 0;
  if (const double* d = as_float()) return *d != 0.0;
  if (const Text* text = as_text()) return !text->empty();
  if (const List* list = as_list()) return list->kind == ListKind::kGenerator || !list->items.empty();
  if (const Dict* dict = as_dict()) return !dict->entries.empty();
  return as_object() != nullptr;
}

const char* Value::type_name() const {
  if (is_none()) return "NoneType";
  if (is_undefined()) return "Undefined";
  if (as_bool()) return "bool";
  if (as_int()) return "int";
  if (is_float()) return "float";
  if (is_string()) return "str";
  if (as_dict()) return "dict";
  if (const Object* object = as_object()) return object->type_name();
  switch (as_list()->kind) {
    case ListKind::kList:
      return "list";
    case ListKind::kTuple:
      return "tuple";
    case ListKind::kView:
      return "dict_view";
    case ListKind::kRange:
      return "range";
    case ListKind::kGenerator:
      return "generator";
  }
  return "list";
}

bool Value::SameObject(const Value& other) const {
  if (storage_.index() != other.storage_.index()) return false;
  if (const bool* b = as_bool()) return *b == *other.as_bool();
  if (const int64_t* i = as_int()) return *i == *other.as_int();
  if (is_none()) return true;
  if (const Text* text = as_text()) return text == other.as_text();
  if (const List* list = as_list()) return list == other.as_list();
  if (const Dict* dict = as_dict()) return dict == other.as_dict();
  if (const Object* object = as_object()) return object == other.as_object();
  return false;
}

std::string HashKey(Budget& budget, const Value& key) {
  if (const Text* text = key.as_text()) {
    budget.Work(text->size());
    return "s" + text->bytes();
  }
  if (key.is_none()) return "n";
  if (key.is_undefined()) return "u";  // As in Jinja, where they are equal too.
  if (key.is_number()) {
    const double number = key.ToDouble();
    if (const auto integer = key.ToInt()) return "i" + std::to_string(*integer);
    if (number == std::floor(number) && std::fabs(number) < 9e15)
      return "i" + std::to_string(static_cast<int64_t>(number));
    return "f" + FloatRepr(number);
  }
  if (const List* list = key.as_list(); list != nullptr && list->kind == ListKind::kTuple) {
    std::string out = "t";
    for (const Value& item : list->items) {
      const std::string part = HashKey(budget, item);
      budget.Step();
      budget.Work(part.size());
      out += std::to_string(part.size()) + ":" + part;
      if (out.size() > kMaxKeyBytes) Budget::Exceeded("bytes in a key", kMaxKeyBytes);
    }
    return out;
  }
  TypeError(std::string("unhashable type: '") + key.type_name() + "'");
}

const Value* Dict::Find(Budget& budget, const Value& key) const {
  const auto it = index.find(HashKey(budget, key));
  return it == index.end() ? nullptr : &entries[it->second].second;
}

const Value* Dict::Find(std::string_view key) const {
  const auto it = index.find("s" + std::string(key));
  return it == index.end() ? nullptr : &entries[it->second].second;
}

void Dict::Set(Budget& budget, const Value& key, Value value) {
  const auto [it, added] = index.emplace(HashKey(budget, key), entries.size());
  if (added) {
    entries.emplace_back(key, std::move(value));
  } else {
    entries[it->second].second = std::move(value);
  }
}

bool Equal(Budget& budget, const Value& a, const Value& b) {
  budget.Step();
  if (a.is_number() && b.is_number()) {
    const auto x = a.ToInt();
    const auto y = b.ToInt();
    return x && y ? *x == *y : a.ToDouble() == b.ToDouble();
  }
  if (a.is_undefined() && b.is_undefined()) return true;
  if (const Text* x = a.as_text()) {
    const Text* y = b.as_text();
    if (y == nullptr || x->size() != y->size()) return false;
    budget.Read(x->size());
    return x->bytes() == y->bytes();
  }
  if (const List* x = a.as_list()) {
    const List* y = b.as_list();
    if (y == nullptr || x == y) return x == y;
    return SameSequenceType(*x, *y) && x->items.size() == y->items.size() &&
           std::equal(x->items.begin(), x->items.end(), y->items.begin(),
                      [&](const Value& p, const Value& q) { return Equal(budget, p, q); });
  }
  if (const Dict* x = a.as_dict()) {
    const Dict* y = b.as_dict();
    if (y == nullptr || x == y || x->entries.size() != y->entries.size()) return x == y;
    return std::all_of(x->entries.begin(), x->entries.end(), [&](const auto& entry) {
      const Value* other = y->Find(budget, entry.first);
      return other != nullptr && Equal(budget, entry.second, *other);
    });
  }
  return a.SameObject(b);
}

bool Less(Budget& budget, const Value& a, const Value& b) {
  budget.Step();
  RequireDefined(a);
  RequireDefined(b);
  if (a.is_number() && b.is_number()) {
    const auto x = a.ToInt();
    const auto y = b.ToInt();
    return x && y ? *x < *y : a.ToDouble() < b.ToDouble();
  }
  if (a.is_string() && b.is_string()) {
    budget.Read(std::min(a.as_text()->size(), b.as_text()->size()));
    return a.as_text()->bytes() < b.as_text()->bytes();  // UTF-8 sorts by code point.
  }
  const List* x = a.as_list();
  const List* y = b.as_list();
  if (x != nullptr && y != nullptr && x->kind == y->kind &&
      (x->kind == ListKind::kList || x->kind == ListKind::kTuple)) {
    for (size_t i = 0; i < std::min(x->items.size(), y->items.size()); ++i) {
      if (!Equal(budget, x->items[i], y->items[i])) return Less(budget, x->items[i], y->items[i]);
    }
    return x->items.size() < y->items.size();
  }
  TypeError(std::string("'<' not supported between instances of '") + a.type_name() + "' and '" + b.type_name() + "'");
}

Value MakeList(Budget& budget, Values items, ListKind kind) {
  budget.Step(items.size());
  budget.Work((items.size() + 1) * sizeof(Value));
  List list;
  list.kind = kind;
  for (const Value& item : items) list.depth = std::max(list.depth, item.depth() + 1);
  if (list.depth > budget.limits().value_depth)
    Budget::Exceeded("lists inside each other", budget.limits().value_depth);
  list.items = std::move(items);
  return Value(std::make_shared<const List>(std::move(list)));
}

Value MakeGroup(Budget& budget, Value grouper, Value list) {
  const Value pair = MakeList(budget, {std::move(grouper), std::move(list)}, ListKind::kTuple);
  List group = *pair.as_list();
  group.is_group = true;
  return Value(std::make_shared<const List>(std::move(group)));
}

Value MakeDict(Budget& budget, Dict dict) {
  budget.Step(dict.entries.size());
  budget.Work((dict.entries.size() + 1) * 4 * sizeof(Value));
  for (const auto& [key, value] : dict.entries) dict.depth = std::max({dict.depth, key.depth() + 1, value.depth() + 1});
  if (dict.depth > budget.limits().value_depth)
    Budget::Exceeded("dicts inside each other", budget.limits().value_depth);
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

}  // namespace prenorm::chat_template
