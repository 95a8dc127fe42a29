// Namespaces, macros, the loop variable, cyclers.
#include "runtime/chat_template/objects.h"

#include <algorithm>

namespace prenorm::chat_template {
namespace {

std::unique_ptr<Value> Box(Value value) { return std::make_unique<Value>(std::move(value)); }
std::unique_ptr<Value> Box(size_t number) { return Box(Value(static_cast<int64_t>(number))); }

// A method of an object that the function finds again in its subject.
Value Method(Native native, const std::shared_ptr<Object>& self) {
  return Value(ObjectPtr(std::make_shared<Function>(native, Value(self))));
}

Value LoopCycle(Interpreter&, const Value& self, Arguments& arguments) {
  if (arguments.positional.empty()) TypeError("no items for cycling given");
  const size_t index = static_cast<Loop&>(*self.as_object()).index();
  return arguments.positional[index % arguments.positional.size()];
}

Value LoopChanged(Interpreter& in, const Value& self, Arguments& arguments) {
  return Value(static_cast<Loop&>(*self.as_object()).Changed(in, in.List(arguments.positional)));
}

Value CyclerNext(Interpreter&, const Value& self, Arguments&) { return static_cast<Cycler&>(*self.as_object()).Next(); }

Value CyclerReset(Interpreter&, const Value& self, Arguments&) {
  static_cast<Cycler&>(*self.as_object()).Reset();
  return Value();
}

}  // namespace

std::unique_ptr<Value> Namespace::Attribute(Interpreter& in, std::string_view name) {
  in.budget().LookUp(members_.size());
  for (const auto& [key, value] : members_) {
    if (key == name) return Box(value);
  }
  return nullptr;
}

void Namespace::Set(Budget& budget, std::string_view name, Value value) {
  if (name.starts_with('_'))
    TypeError("a namespace cannot hold '" + std::string(name) + "': it begins with an underscore");
  budget.LookUp(members_.size());
  for (auto& [key, old] : members_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  budget.Work(name.size() + sizeof(Value));
  members_.emplace_back(name, std::move(value));
}

std::unique_ptr<Value> Macro::Attribute(Interpreter&, std::string_view name) {
  return name == "name" ? Box(Value::String(name_)) : nullptr;
}

Value Macro::Call(Interpreter& in, Arguments& arguments) {
  const Budget::Nested nested(in.budget());
  auto scope = std::make_shared<Scope>();
  scope->parent = scope_;
  const std::vector<Parameter>& parameters = stmt_.parameters;
  in.budget().LookUp(parameters.size() * (parameters.size() + arguments.named.size()));
  const auto known = [&](const std::string& name) {
    return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  };
  Dict keywords;
  for (const auto& [name, value] : arguments.named) {
    if (name == "caller" && stmt_.uses_caller) {
      scope->Set("caller", value);
    } else if (!known(name)) {
      keywords.Set(in.budget(), Value::String(name), value);
    }
  }
  const Position at = in.at();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const Value* given = arguments.Find(i, parameter.name);
    if (given != nullptr) {
      scope->Set(parameter.name, *given);
    } else if (parameter.default_value != nullptr) {
      scope->Set(parameter.name, in.EvaluateIn(scope, *parameter.default_value));
    } else {
      scope->Set(parameter.name, Value::Missing("parameter '" + parameter.name + "' was not provided"));
    }
  }
  Values rest;
  for (size_t i = parameters.size(); i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
  if (!rest.empty() && !stmt_.uses_varargs) {
    TypeError("macro '" + name_ + "' takes not more than " + std::to_string(parameters.size()) + " argument(s)");
  }
  if (!keywords.entries.empty() && !stmt_.uses_kwargs) {
    TypeError("macro '" + name_ + "' takes no keyword argument '" + keywords.entries[0].first.as_text()->bytes() + "'");
  }
  if (stmt_.uses_varargs) scope->Set("varargs", in.List(std::move(rest), ListKind::kTuple));
  if (stmt_.uses_kwargs) scope->Set("kwargs", MakeDict(in.budget(), std::move(keywords)));
  Value text(in.RunIn(std::move(scope), stmt_.body));
  in.MoveTo(at);
  return text;
}

std::unique_ptr<Value> Loop::Attribute(Interpreter&, std::string_view name) {
  const Values& items = items_.as_list()->items;
  if (name == "index") return Box(index_ + 1);
  if (name == "index0") return Box(index_);
  if (name == "revindex") return Box(items.size() - index_);
  if (name == "revindex0") return Box(items.size() - index_ - 1);
  if (name == "first") return Box(Value(index_ == 0));
  if (name == "last") return Box(Value(index_ + 1 == items.size()));
  if (name == "length") return Box(items.size());
  if (name == "depth") return Box(depth0_ + 1);
  if (name == "depth0") return Box(depth0_);
  if (name == "previtem") return Box(index_ > 0 ? items[index_ - 1] : Value::Missing("there is no previous item"));
  if (name == "nextitem")
    return Box(index_ + 1 < items.size() ? items[index_ + 1] : Value::Missing("there is no next item"));
  if (name == "cycle") return Box(Method(LoopCycle, shared_from_this()));
  if (name == "changed") return Box(Method(LoopChanged, shared_from_this()));
  return nullptr;
}

Value Loop::Call(Interpreter& in, Arguments& arguments) {
  if (recursive_ == nullptr) TypeError("The loop must have the 'recursive' marker to be called recursively.");
  arguments.Expect("loop", {"iterable"});
  return in.RunLoop(*recursive_, scope_, arguments.Get(0, "iterable"), depth0_ + 1);
}

bool Loop::Changed(Interpreter& in, Value arguments) {
  if (last_ == nullptr) in.Register(shared_from_this());
  if (last_ != nullptr && Equal(in.budget(), *last_, arguments)) return false;
  last_ = Box(std::move(arguments));
  return true;
}

std::unique_ptr<Value> Cycler::Attribute(Interpreter&, std::string_view name) {
  if (joins_) return nullptr;
  if (name == "next") return Box(Method(CyclerNext, shared_from_this()));
  if (name == "reset") return Box(Method(CyclerReset, shared_from_this()));
  if (name == "current") return Box(items_.as_list()->items[index_]);
  return nullptr;
}

Value Cycler::Next() {
  const Values& items = items_.as_list()->items;
  const Value value = items[index_];
  index_ = (index_ + 1) % items.size();
  return value;
}

// Of a joiner: nothing the first time, then the separator.
Value Cycler::Call(Interpreter&, Arguments&) { return index_++ == 0 ? Value::String("") : items_.as_list()->items[0]; }

}  // namespace prenorm::chat_template
