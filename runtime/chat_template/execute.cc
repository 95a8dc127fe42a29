// Statements.
#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/objects.h"
#include "runtime/chat_template/print.h"

namespace prenorm::chat_template {

void Scope::Set(std::string_view name, Value value) {
  for (auto& [key, old] : variables) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

/// As long as it lives, statements run in a scope inside the given one.
class Interpreter::ScopeGuard {
 public:
  ScopeGuard(Interpreter& in, std::shared_ptr<Scope> parent) : in_(in), outer_(in.scope_) {
    in_.budget_.Work(sizeof(Scope));
    in_.scope_ = std::make_shared<Scope>();
    in_.scope_->parent = std::move(parent);
  }
  explicit ScopeGuard(Interpreter& in) : ScopeGuard(in, in.scope_) {}
  ~ScopeGuard() { in_.scope_ = std::move(outer_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Interpreter& in_;
  std::shared_ptr<Scope> outer_;
};

Interpreter::Interpreter(Budget& budget, const std::tm& now)
    : budget_(budget), now_(now), scope_(std::make_shared<Scope>()) {
  scopes_.push_back(scope_);
}

// First everything is emptied while all of it is alive: so no chain of objects is freed by recursion.
Interpreter::~Interpreter() {
  for (const std::shared_ptr<Scope>& scope : scopes_) scope->variables.clear();
  for (const ObjectPtr& object : objects_) object->Clear();
  for (const std::shared_ptr<Scope>& scope : scopes_) scope->parent.reset();
}

void Interpreter::Register(const std::shared_ptr<Scope>& scope) {
  if (scopes_.back() == scope) return;
  budget_.Work(sizeof(Scope));
  scopes_.push_back(scope);
}

void Interpreter::Register(ObjectPtr object) {
  budget_.Work(sizeof(Loop));  // Or less; it lives as long as the interpreter.
  objects_.push_back(std::move(object));
}

Text Interpreter::Run(const Body& body) {
  const ScopeGuard guard(*this);  // What the template sets must not touch the variables it was given.
  Register(scope_);
  template_scope_ = scope_;
  TextBuilder out(budget_);
  Execute(body, out);
  return out.Take();
}

Text Interpreter::RunIn(std::shared_ptr<Scope> scope, const Body& body) {
  return InScope(std::move(scope), [&] {
    TextBuilder out(budget_);
    Execute(body, out);
    return out.Take();
  });
}

Text Interpreter::Capture(const Body& body) {
  const ScopeGuard guard(*this);
  TextBuilder out(budget_);
  Execute(body, out);
  return out.Take();
}

Interpreter::Signal Interpreter::Execute(const Body& body, TextBuilder& out) {
  const Budget::Nested nested(budget_);
  for (const StmtPtr& stmt : body) {
    budget_.Step();
    at_ = stmt->at;
    const Signal signal = ExecuteOne(*stmt, out);
    if (signal != Signal::kNone) return signal;
  }
  return Signal::kNone;
}

Interpreter::Signal Interpreter::ExecuteOne(const Stmt& stmt, TextBuilder& out) {
  switch (stmt.kind) {
    case StmtKind::kText:
      out.Add(stmt.text);
      CheckOutput(out);
      break;
    case StmtKind::kPrint:
      Print(Evaluate(*stmt.expr), out);
      break;
    case StmtKind::kIf:
      return ExecuteIf(stmt, out);
    case StmtKind::kFor:
      return ExecuteFor(stmt, Evaluate(*stmt.expr), 0, out);
    case StmtKind::kSet:
      Assign(stmt.target, Evaluate(*stmt.expr));
      break;
    case StmtKind::kSetBlock:
      ExecuteSetBlock(stmt);
      break;
    case StmtKind::kMacro:
      SetName(stmt.target.name, MakeMacro(stmt));
      break;
    case StmtKind::kCall:
      ExecuteCall(stmt, out);
      break;
    case StmtKind::kFilter:
      ExecuteFilter(stmt, out);
      break;
    case StmtKind::kWith:
      return ExecuteWith(stmt, out);
    case StmtKind::kBreak:
      return Signal::kBreak;
    case StmtKind::kContinue:
      return Signal::kContinue;
    case StmtKind::kScope:
      Print(Value(Capture(stmt.body)), out);
      break;
    case StmtKind::kBlock:
      Print(Value(RunBlock(stmt)), out);
      break;
  }
  return Signal::kNone;
}

void Interpreter::Print(const Value& value, TextBuilder& out) {
  PrintTo(out, value);
  CheckOutput(out);
}

void Interpreter::CheckOutput(const TextBuilder& out) const {
  const size_t limit = budget_.limits().output_bytes;
  if (out.size() > limit) Budget::Exceeded("bytes of output", limit);
}

Interpreter::Signal Interpreter::ExecuteIf(const Stmt& stmt, TextBuilder& out) {
  for (const auto& [condition, body] : stmt.branches) {
    if (Evaluate(*condition).Truthy()) return Execute(body, out);
  }
  return Execute(stmt.body, out);
}

// What the loop runs over: elements for which the condition holds.
Values Interpreter::LoopItems(const Stmt& stmt, const Value& iterable) {
  Values items = Iterate(iterable);
  if (stmt.condition == nullptr) return items;
  Values kept;
  for (Value& item : items) {
    const ScopeGuard guard(*this);
    Assign(stmt.target, item);
    if (Evaluate(*stmt.condition).Truthy()) kept.push_back(std::move(item));
  }
  return kept;
}

// Jumps in the body are the loop's own; those in its else are of a loop around it. As in Jinja, the else also runs where
// jumps left every pass through the body before its end.
Interpreter::Signal Interpreter::ExecuteFor(const Stmt& stmt, const Value& iterable, size_t depth0, TextBuilder& out) {
  const Value list = List(LoopItems(stmt, iterable));
  const Values& items = list.as_list()->items;
  if (stmt.recursive) Register(scope_);  // A loop that is kept would keep what is around it.
  const auto loop = std::make_shared<Loop>(list, depth0, stmt.recursive ? &stmt : nullptr,
                                           stmt.recursive ? scope_ : std::shared_ptr<Scope>());
  bool finished = false;
  for (size_t i = 0; i < items.size(); ++i) {
    budget_.Step();
    loop->Advance(i);
    const ScopeGuard guard(*this);
    scope_->Set("loop", Value(ObjectPtr(loop)));
    Assign(stmt.target, items[i]);
    const Signal signal = Execute(stmt.body, out);
    if (signal == Signal::kBreak) break;
    finished |= signal == Signal::kNone;
  }
  if (finished) return Signal::kNone;
  const ScopeGuard guard(*this);
  return Execute(stmt.else_body, out);
}

Value Interpreter::RunLoop(const Stmt& stmt, std::shared_ptr<Scope> scope, const Value& iterable, size_t depth0) {
  const Budget::Nested nested(budget_);
  const Position at = at_;
  Text text = InScope(std::move(scope), [&] {
    TextBuilder out(budget_);
    ExecuteFor(stmt, iterable, depth0, out);
    return out.Take();
  });
  at_ = at;
  return Value(std::move(text));
}

// Unless it says so, a block does not see the loops and macros around it.
Text Interpreter::RunBlock(const Stmt& stmt) {
  if (stmt.scoped) return Capture(stmt.body);
  return InScope(template_scope_, [&] { return Capture(stmt.body); });
}

Interpreter::Signal Interpreter::ExecuteWith(const Stmt& stmt, TextBuilder& out) {
  Values values;
  for (const auto& [target, expr] : stmt.assignments) values.push_back(Evaluate(*expr));
  const ScopeGuard guard(*this);
  for (size_t i = 0; i < values.size(); ++i) Assign(stmt.assignments[i].first, std::move(values[i]));
  return Execute(stmt.body, out);
}

void Interpreter::ExecuteSetBlock(const Stmt& stmt) {
  const Value text(Capture(stmt.body));
  Assign(stmt.target, stmt.expr == nullptr ? text : EvaluateFilter(*stmt.expr, &text));
}

void Interpreter::ExecuteFilter(const Stmt& stmt, TextBuilder& out) {
  const Value text(Capture(stmt.body));
  Print(EvaluateFilter(*stmt.expr, &text), out);
}

void Interpreter::ExecuteCall(const Stmt& stmt, TextBuilder& out) {
  const Value callee = Evaluate(*stmt.expr->items[0]);
  Arguments arguments = EvaluateArguments(*stmt.expr);
  arguments.named.emplace_back("caller", MakeMacro(stmt));
  at_ = stmt.expr->at;
  Print(Call(callee, arguments), out);
}

Value Interpreter::MakeMacro(const Stmt& stmt) {
  Register(scope_);
  return Value(
      ObjectPtr(std::make_shared<Macro>(stmt, stmt.kind == StmtKind::kCall ? "caller" : stmt.target.name, scope_)));
}

void Interpreter::SetName(std::string_view name, Value value) {
  budget_.LookUp(scope_->variables.size());
  scope_->Set(name, std::move(value));
}

void Interpreter::Assign(const Target& target, Value value) {
  if (!target.targets.empty()) {
    const Values parts = Iterate(value);
    if (parts.size() != target.targets.size()) {
      at_ = target.at;
      TypeError("expected " + std::to_string(target.targets.size()) + " values to assign, found " +
                std::to_string(parts.size()));
    }
    for (size_t i = 0; i < parts.size(); ++i) Assign(target.targets[i], parts[i]);
    return;
  }
  if (target.member.empty()) return SetName(target.name, std::move(value));
  const Value* object = Lookup(target.name);
  auto* space = object == nullptr ? nullptr : dynamic_cast<Namespace*>(object->as_object());
  if (space != nullptr) return space->Set(budget_, target.member, std::move(value));
  at_ = target.at;
  TypeError("cannot assign attribute on non-namespace object");
}

}  // namespace prenorm::chat_template
