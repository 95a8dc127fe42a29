// Evaluates a parsed template.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/arguments.h"
#include "runtime/chat_template/ast.h"

namespace prenorm::chat_template {

/// Variables of a block; those around it are visible through `parent`. Names live in the tree.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> variables;

  void Set(std::string_view name, Value value);
};

class Interpreter {
 public:
  /// `now` is what strftime_now formats.
  Interpreter(Budget& budget, const std::tm& now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// A variable of the whole template. `name` must outlive the interpreter.
  void SetVariable(std::string_view name, Value value) { scope_->Set(name, std::move(value)); }
  /// The rendered text. Throws TemplateError; at() then tells where.
  Text Run(const Body& body);
  const Position& at() const { return at_; }
  void MoveTo(const Position& at) { at_ = at; }

  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }

  // What natives use.
  Value List(Values items, ListKind kind = ListKind::kList) { return MakeList(budget_, std::move(items), kind); }
  /// Elements of a sequence, keys of a dict, characters of a string. Throws for what is none of them.
  Values Iterate(const Value& value);
  /// `object.name` and `object[key]`: undefined where there is no such thing, as Jinja has it.
  Value Attribute(const Value& object, std::string_view name);
  Value Subscript(const Value& object, const Value& key);
  Value Call(const Value& callee, Arguments& arguments);

  /// Calls a macro's body with `scope` in place of the current one.
  Text RunIn(std::shared_ptr<Scope> scope, const Body& body);
  Value EvaluateIn(std::shared_ptr<Scope> scope, const Expr& expr);
  /// The text of a for block in `scope` over these items in place of its own.
  Value RunLoop(const Stmt& stmt, std::shared_ptr<Scope> scope, const Value& iterable, size_t depth0);
  /// What can come to refer to itself, or to a long chain of others, is kept and emptied at the end: else it would never
  /// be freed, or by recursion.
  void Register(const std::shared_ptr<Scope>& scope);
  void Register(ObjectPtr object);

 private:
  enum class Signal { kNone, kBreak, kContinue };
  class ScopeGuard;

  /// What `work` returns with `scope` in place of the current one, which is back afterwards whatever happens.
  template <typename Work>
  auto InScope(std::shared_ptr<Scope> scope, const Work& work) {
    std::swap(scope_, scope);
    struct Restore {
      std::shared_ptr<Scope>& current;
      std::shared_ptr<Scope>& outer;
      ~Restore() { std::swap(current, outer); }
    } restore{scope_, scope};
    return work();
  }

  // execute.cc
  Signal Execute(const Body& body, TextBuilder& out);
  Signal ExecuteOne(const Stmt& stmt, TextBuilder& out);
  Signal ExecuteIf(const Stmt& stmt, TextBuilder& out);
  Signal ExecuteFor(const Stmt& stmt, const Value& iterable, size_t depth0, TextBuilder& out);
  Signal ExecuteWith(const Stmt& stmt, TextBuilder& out);
  void ExecuteSetBlock(const Stmt& stmt);
  void ExecuteCall(const Stmt& stmt, TextBuilder& out);
  void ExecuteFilter(const Stmt& stmt, TextBuilder& out);
  void Print(const Value& value, TextBuilder& out);
  void CheckOutput(const TextBuilder& out) const;
  void Assign(const Target& target, Value value);
  void SetName(std::string_view name, Value value);
  Value MakeMacro(const Stmt& stmt);
  Text Capture(const Body& body);
  Values LoopItems(const Stmt& stmt, const Value& iterable);
  Text RunBlock(const Stmt& stmt);

  // evaluate.cc
  Value Evaluate(const Expr& expr);
  Value EvaluateName(const Expr& expr) const;
  const Value* Lookup(std::string_view name) const;
  Value EvaluateDict(const Expr& expr);
  Value EvaluateSlice(const Expr& expr);
  Value EvaluateCall(const Expr& expr);
  Value EvaluateFilter(const Expr& expr, const Value* block);
  Value EvaluateTest(const Expr& expr);
  Value EvaluateArithmetic(const Expr& expr);
  Value EvaluateCompare(const Expr& expr);
  Value EvaluateConditional(const Expr& expr);
  Values EvaluateItems(const Expr& expr);
  Arguments EvaluateArguments(const Expr& expr);

  Budget& budget_;
  std::tm now_;
  std::shared_ptr<Scope> scope_;
  std::shared_ptr<Scope> template_scope_;  // what the template sets outside of all loops and macros
  Position at_;
  std::vector<std::shared_ptr<Scope>> scopes_;
  std::vector<ObjectPtr> objects_;
};

}  // namespace prenorm::chat_template
