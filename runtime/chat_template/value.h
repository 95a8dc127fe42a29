// Values of a template: what Python has, as far as templates can see it. Immutable but for the objects' own state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/chat_template/text.h"

namespace prenorm::chat_template {

class Value;
class Interpreter;
struct Arguments;

using Values = std::vector<Value>;

/// A name or member that is not there. It prints as nothing and is false, but most uses of it are errors.
struct Undefined {
  std::shared_ptr<const std::string> reason;  ///< What such a use reports.
};

enum class ListKind {
  kList,
  kTuple,
  kView,  ///< keys(), values(), items().
  kRange,
  kGenerator,  ///< What select and map give: no length, no index, gone after one pass.
};

struct List {
  ListKind kind = ListKind::kList;
  Values items;
  size_t depth = 1;               ///< Containers inside each other, this one included.
  mutable bool consumed = false;  ///< kGenerator only.
  bool is_group = false;          ///< groupby's pairs have names too: grouper and list.
};

/// In order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string, size_t> index;  ///< HashKey to entry.
  size_t depth = 1;

  const Value* Find(Budget& budget, const Value& key) const;
  const Value* Find(std::string_view key) const;
  void Set(Budget& budget, const Value& key, Value value);
};

/// Anything callable or with state: functions, macros, namespaces, the loop variable.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual const char* type_name() const = 0;
  /// Null where it has no such attribute.
  virtual std::unique_ptr<Value> Attribute(Interpreter& in, std::string_view name);
  virtual bool callable() const { return false; }
  virtual Value Call(Interpreter& in, Arguments& arguments);
  /// Of the containers it keeps alive, see List::depth.
  virtual size_t depth() const { return 1; }
  /// Lets go of the values that it was given after it was made; see Interpreter::Register.
  virtual void Clear() {}
};

using TextPtr = std::shared_ptr<const Text>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  Value() = default;  ///< None.
  explicit Value(bool value) : storage_(value) {}
  explicit Value(int64_t value) : storage_(value) {}
  explicit Value(double value) : storage_(value) {}
  explicit Value(Undefined value) : storage_(std::move(value)) {}
  explicit Value(Text text) : storage_(std::make_shared<const Text>(std::move(text))) {}
  explicit Value(ListPtr list) : storage_(std::move(list)) {}
  explicit Value(DictPtr dict) : storage_(std::move(dict)) {}
  explicit Value(ObjectPtr object) : storage_(std::move(object)) {}

  static Value String(std::string_view bytes, Origin origin = Origin::kTemplate) { return Value(Text(bytes, origin)); }
  static Value Missing(std::string reason) {
    return Value(Undefined{std::make_shared<const std::string>(std::move(reason))});
  }

  bool is_none() const { return std::holds_alternative<std::monostate>(storage_); }
  bool is_undefined() const { return std::holds_alternative<Undefined>(storage_); }
  bool is_string() const { return std::holds_alternative<TextPtr>(storage_); }
  bool is_float() const { return std::holds_alternative<double>(storage_); }

  const bool* as_bool() const { return std::get_if<bool>(&storage_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&storage_); }
  const double* as_float() const { return std::get_if<double>(&storage_); }
  const Undefined* as_undefined() const { return std::get_if<Undefined>(&storage_); }
  const Text* as_text() const { return Pointee<TextPtr>(); }
  const List* as_list() const { return Pointee<ListPtr>(); }
  const Dict* as_dict() const { return Pointee<DictPtr>(); }
  Object* as_object() const {
    const ObjectPtr* object = std::get_if<ObjectPtr>(&storage_);
    return object == nullptr ? nullptr : object->get();
  }
  const ObjectPtr& object() const { return std::get<ObjectPtr>(storage_); }

  /// Bool, int or float, as Python's arithmetic takes them.
  bool is_number() const { return as_bool() != nullptr || as_int() != nullptr || is_float(); }
  /// Requires is_number().
  double ToDouble() const;
  /// Bool or int; nothing for others.
  std::optional<int64_t> ToInt() const;

  size_t depth() const;
  bool Truthy() const;
  /// Python's name of the type, for messages.
  const char* type_name() const;
  bool SameObject(const Value& other) const;

 private:
  template <typename Pointer>
  auto Pointee() const -> decltype(std::declval<const Pointer&>().get()) {
    const Pointer* pointer = std::get_if<Pointer>(&storage_);
    return pointer == nullptr ? nullptr : pointer->get();
  }

  std::variant<std::monostate, Undefined, bool, int64_t, double, TextPtr, ListPtr, DictPtr, ObjectPtr> storage_;
};

/// Equal for equal keys (1, 1.0 and True are one key), also for tuples of keys. Throws for what cannot be a key.
std::string HashKey(Budget& budget, const Value& key);

/// Python's ==. Whoever wrote a string does not matter.
bool Equal(Budget& budget, const Value& a, const Value& b);
/// Python's <, for numbers, strings and sequences of them; throws for others.
bool Less(Budget& budget, const Value& a, const Value& b);

/// Containers within the budget; throws where they would nest too deep.
Value MakeList(Budget& budget, Values items, ListKind kind = ListKind::kList);
Value MakeDict(Budget& budget, Dict dict);
Value MakeGroup(Budget& budget, Value grouper, Value list);

/// Throws "unsupported operand": a type where Python would not take it.
[[noreturn]] void TypeError(const std::string& message);
/// Throws if the value is undefined, with its reason.
void RequireDefined(const Value& value);

}  // namespace prenorm::chat_template
