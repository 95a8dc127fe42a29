// Expressions.
#include <algorithm>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/methods.h"
#include "runtime/chat_template/objects.h"
#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/tests.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

// As Jinja names an object whose attribute is missing.
std::string Describe(const Value& object) {
  if (object.is_none()) return "'None'";
  return std::string("'") + object.type_name() + " object'";
}

}  // namespace

Value Interpreter::EvaluateIn(std::shared_ptr<Scope> scope, const Expr& expr) {
  return InScope(std::move(scope), [&] { return Evaluate(expr); });
}

Value Interpreter::Evaluate(const Expr& expr) {
  const Budget::Nested nested(budget_);
  budget_.Step();
  at_ = expr.at;
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.value;
    case ExprKind::kName:
      return EvaluateName(expr);
    case ExprKind::kList:
      return List(EvaluateItems(expr));
    case ExprKind::kTuple:
      return List(EvaluateItems(expr), ListKind::kTuple);
    case ExprKind::kDict:
      return EvaluateDict(expr);
    case ExprKind::kAttribute: {
      const Value object = Evaluate(*expr.items[0]);
      at_ = expr.at;
      return Attribute(object, expr.name);
    }
    case ExprKind::kSubscript: {
      const Value object = Evaluate(*expr.items[0]);
      const Value key = Evaluate(*expr.items[1]);
      at_ = expr.at;
      return Subscript(object, key);
    }
    case ExprKind::kSlice:
      return EvaluateSlice(expr);
    case ExprKind::kCall:
      return EvaluateCall(expr);
    case ExprKind::kFilter:
      return EvaluateFilter(expr, nullptr);
    case ExprKind::kTest:
      return EvaluateTest(expr);
    case ExprKind::kNot:
      return Value(!Evaluate(*expr.items[0]).Truthy());
    case ExprKind::kNegate:
      return Negate(Evaluate(*expr.items[0]));
    case ExprKind::kPositive:
      return Negate(Negate(Evaluate(*expr.items[0])));
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      Value value = Evaluate(*expr.items[0]);
      for (size_t i = 1; i < expr.items.size() && value.Truthy() == (expr.kind == ExprKind::kAnd); ++i) {
        value = Evaluate(*expr.items[i]);
      }
      return value;
    }
    case ExprKind::kArithmetic:
      return EvaluateArithmetic(expr);
    case ExprKind::kCompare:
      return EvaluateCompare(expr);
    case ExprKind::kConditional:
      return EvaluateConditional(expr);
  }
  return Value();
}

const Value* Interpreter::Lookup(std::string_view name) const {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    budget_.LookUp(scope->variables.size());
    for (const auto& [key, value] : scope->variables) {
      if (key == name) return &value;
    }
  }
  return nullptr;
}

Value Interpreter::EvaluateName(const Expr& expr) const {
  if (const Value* value = Lookup(expr.name)) return *value;
  if (const auto global = FindGlobal(expr.name)) return *global;
  return Value::Missing("'" + expr.name + "' is undefined");
}

Values Interpreter::EvaluateItems(const Expr& expr) {
  Values items;
  for (const ExprPtr& item : expr.items) items.push_back(Evaluate(*item));
  return items;
}

Value Interpreter::EvaluateDict(const Expr& expr) {
  Dict dict;
  for (size_t i = 0; i + 1 < expr.items.size(); i += 2) {
    const Value key = Evaluate(*expr.items[i]);
    dict.Set(budget_, key, Evaluate(*expr.items[i + 1]));
  }
  return MakeDict(budget_, std::move(dict));
}

Value Interpreter::EvaluateSlice(const Expr& expr) {
  const Value object = Evaluate(*expr.items[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (expr.items[i + 1] != nullptr) bounds[i] = Evaluate(*expr.items[i + 1]);
  }
  at_ = expr.at;
  return Slice(budget_, object, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::EvaluateArguments(const Expr& expr) {
  Arguments arguments;
  for (size_t i = 1; i < expr.items.size(); ++i) arguments.positional.push_back(Evaluate(*expr.items[i]));
  for (const NamedOperand& operand : expr.named) {
    Value value = Evaluate(*operand.value);
    if (operand.name == "*") {
      for (Value& item : Iterate(value)) arguments.positional.push_back(std::move(item));
    } else if (operand.name == "**") {
      const Dict* dict = value.as_dict();
      if (dict == nullptr) TypeError("the argument behind ** must be a mapping");
      for (const auto& [key, item] : dict->entries) {
        if (!key.is_string()) TypeError("keywords must be strings");
        budget_.Step();
        budget_.Work(key.as_text()->size() + sizeof(item));
        arguments.named.emplace_back(key.as_text()->bytes(), item);
      }
    } else {
      arguments.named.emplace_back(operand.name, std::move(value));
    }
  }
  at_ = expr.at;
  return arguments;
}

Value Interpreter::EvaluateCall(const Expr& expr) {
  const Value callee = Evaluate(*expr.items[0]);
  Arguments arguments = EvaluateArguments(expr);
  return Call(callee, arguments);
}

Value Interpreter::Call(const Value& callee, Arguments& arguments) {
  RequireDefined(callee);
  Object* object = callee.as_object();
  if (object == nullptr) TypeError(std::string("'") + callee.type_name() + "' object is not callable");
  return object->Call(*this, arguments);
}

Value Interpreter::EvaluateFilter(const Expr& expr, const Value* block) {
  const ExprPtr& inner = expr.items[0];
  Value subject;
  if (inner == nullptr) {
    subject = *block;
  } else {  // A chain of filters over a block ends in one without a subject of its own.
    subject = inner->kind == ExprKind::kFilter ? EvaluateFilter(*inner, block) : Evaluate(*inner);
  }
  Arguments arguments = EvaluateArguments(expr);
  if (expr.filter == nullptr) throw TemplateError(UnknownFilter(expr.name), ErrorKind::kUnsupported);
  return expr.filter->apply(*this, subject, arguments);
}

Value Interpreter::EvaluateTest(const Expr& expr) {
  const Value subject = Evaluate(*expr.items[0]);
  Arguments arguments = EvaluateArguments(expr);
  if (expr.test == nullptr) throw TemplateError(UnknownTest(expr.name), ErrorKind::kUnsupported);
  return Value(expr.test->holds(*this, subject, arguments));
}

Value Interpreter::EvaluateArithmetic(const Expr& expr) {
  Value left = Evaluate(*expr.items[0]);
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    const Value right = Evaluate(*expr.items[i + 1]);
    at_ = expr.at;
    left = Arithmetic(budget_, expr.operators[i], left, right);
  }
  return left;
}

Value Interpreter::EvaluateCompare(const Expr& expr) {
  Value left = Evaluate(*expr.items[0]);
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    Value right = Evaluate(*expr.items[i + 1]);
    at_ = expr.at;
    const bool contains = expr.operators[i] == Operator::kIn || expr.operators[i] == Operator::kNotIn;
    // Elements of a generator can be looked at only once.
    if (contains && right.as_list() != nullptr) right = List(Iterate(right));
    if (!Compare(budget_, expr.operators[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::EvaluateConditional(const Expr& expr) {
  if (Evaluate(*expr.items[1]).Truthy()) return Evaluate(*expr.items[0]);
  if (expr.items[2] != nullptr) return Evaluate(*expr.items[2]);
  return Value::Missing("the inline if-expression evaluated to false and no else section was defined");
}

Values Interpreter::Iterate(const Value& value) {
  if (value.is_undefined()) return {};
  if (const chat_template::List* list = value.as_list()) {
    budget_.Step(list->items.size());
    if (list->kind != ListKind::kGenerator) return list->items;
    return std::exchange(list->consumed, true) ? Values() : list->items;
  }
  Values items;
  if (const Dict* dict = value.as_dict()) {
    budget_.Step(dict->entries.size());
    for (const auto& [key, item] : dict->entries) items.push_back(key);
    return items;
  }
  if (const Text* text = value.as_text()) {
    budget_.Work(CountChars(text->bytes()) * sizeof(Text));
    for (size_t at = 0; at < text->size();) {
      const size_t length = Utf8Length(text->bytes()[at]);
      items.push_back(Value(text->Substr(at, length)));
      at += length;
    }
    budget_.Step(items.size());
    return items;
  }
  TypeError(std::string("'") + value.type_name() + "' object is not iterable");
}

Value Interpreter::Attribute(const Value& object, std::string_view name) {
  RequireDefined(object);
  budget_.Work(name.size());
  if (Object* instance = object.as_object()) {
    if (auto value = instance->Attribute(*this, name)) return std::move(*value);
  } else if (auto method = FindMethod(object, name)) {
    return std::move(*method);
  }
  if (const Dict* dict = object.as_dict()) {
    if (const Value* value = dict->Find(name)) return *value;
  }
  if (const chat_template::List* list = object.as_list(); list != nullptr && list->is_group) {
    if (name == "grouper") return list->items[0];
    if (name == "list") return list->items[1];
  }
  return Value::Missing(Describe(object) + " has no attribute '" + std::string(name) + "'");
}

Value Interpreter::Subscript(const Value& object, const Value& key) {
  RequireDefined(object);
  if (const Dict* dict = object.as_dict()) {
    if (const Value* value = dict->Find(budget_, key)) return *value;
  }
  if (const Text* name = key.as_text()) return Attribute(object, name->bytes());
  const auto index = key.ToInt();
  if (!index) return Value::Missing(Describe(object) + " has no such element");
  const chat_template::List* list = object.as_list();
  if (list != nullptr && list->kind != ListKind::kGenerator && list->kind != ListKind::kView) {
    const int64_t size = static_cast<int64_t>(list->items.size());
    const int64_t at = *index < 0 ? *index + size : *index;
    if (at >= 0 && at < size) return list->items[static_cast<size_t>(at)];
  }
  if (const Text* text = object.as_text()) {
    const std::string& bytes = text->bytes();
    const size_t chars = *index < 0 ? -static_cast<size_t>(*index) : static_cast<size_t>(*index);
    budget_.Work(std::min(chars, bytes.size()));  // They are counted from the nearer end.
    const size_t begin = *index < 0 ? CharOffsetFromEnd(bytes, chars) : CharOffset(bytes, chars);
    if (begin < bytes.size()) return LikeMarkup(object, Value(text->Substr(begin, Utf8Length(bytes[begin]))));
  }
  return Value::Missing(Describe(object) + " has no element " + std::to_string(*index));
}

}  // namespace prenorm::chat_template
