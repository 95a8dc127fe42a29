// Objects of templates: functions, macros, namespaces, the loop variable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/markup.h"

namespace prenorm::chat_template {

/// A global function, or a method with the value it belongs to.
class Function : public Object {
 public:
  Function(Native native, Value subject) : native_(native), subject_(std::move(subject)) {}
  const char* type_name() const override { return "function"; }
  bool callable() const override { return true; }
  Value Call(Interpreter& in, Arguments& arguments) override {
    return LikeMarkup(subject_, native_(in, subject_, arguments));
  }
  size_t depth() const override { return subject_.depth() + 1; }

 private:
  Native native_;
  Value subject_;
};

/// namespace(): the one thing that templates can change.
class Namespace : public Object {
 public:
  const char* type_name() const override { return "Namespace"; }
  std::unique_ptr<Value> Attribute(Interpreter& in, std::string_view name) override;
  /// Throws for names that begin with an underscore, as transformers does.
  void Set(Budget& budget, std::string_view name, Value value);
  void Clear() override { members_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

class Macro : public Object {
 public:
  Macro(const Stmt& stmt, std::string name, std::shared_ptr<Scope> scope)
      : stmt_(stmt), name_(std::move(name)), scope_(std::move(scope)) {}
  const char* type_name() const override { return "Macro"; }
  std::unique_ptr<Value> Attribute(Interpreter& in, std::string_view name) override;
  bool callable() const override { return true; }
  Value Call(Interpreter& in, Arguments& arguments) override;

 private:
  const Stmt& stmt_;
  std::string name_;
  std::shared_ptr<Scope> scope_;
};

/// The variable `loop`.
class Loop : public Object {
 public:
  /// `recursive` is the statement of a loop that may be called, `scope` what is around it.
  Loop(Value items, size_t depth0, const Stmt* recursive, std::shared_ptr<Scope> scope)
      : items_(std::move(items)), depth0_(depth0), recursive_(recursive), scope_(std::move(scope)) {}
  const char* type_name() const override { return "LoopContext"; }
  std::unique_ptr<Value> Attribute(Interpreter& in, std::string_view name) override;
  size_t depth() const override { return items_.depth() + 1; }
  bool callable() const override { return true; }  // Python's is so, whether it may be called or not.
  /// The text of the loop's body for other items.
  Value Call(Interpreter& in, Arguments& arguments) override;
  /// Whether the arguments differ from those of the call before.
  bool Changed(Interpreter& in, Value arguments);
  void Clear() override { last_.reset(); }

  void Advance(size_t index) { index_ = index; }
  size_t index() const { return index_; }

 private:
  Value items_;
  size_t depth0_;
  const Stmt* recursive_;
  std::shared_ptr<Scope> scope_;
  size_t index_ = 0;
  std::unique_ptr<Value> last_;
};

/// cycler(a, b, ...) and joiner(separator).
class Cycler : public Object {
 public:
  Cycler(Value items, bool joins) : items_(std::move(items)), joins_(joins) {}
  const char* type_name() const override { return joins_ ? "Joiner" : "Cycler"; }
  std::unique_ptr<Value> Attribute(Interpreter& in, std::string_view name) override;
  bool callable() const override { return joins_; }
  Value Call(Interpreter& in, Arguments& arguments) override;
  size_t depth() const override { return items_.depth() + 1; }
  Value Next();
  void Reset() { index_ = 0; }

 private:
  Value items_;
  bool joins_;
  size_t index_ = 0;
};

/// range, dict, namespace, raise_exception ...; null for other names.
std::unique_ptr<Value> FindGlobal(std::string_view name);

}  // namespace prenorm::chat_template
