// What a template is once parsed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chat_template/error.h"
#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

struct FilterEntry;
struct TestEntry;
struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class ExprKind {
  kConstant,     // value
  kName,         // name
  kList,         // items
  kTuple,        // items
  kDict,         // items: key, value, key, value ...
  kAttribute,    // items[0] . name
  kSubscript,    // items[0] [ items[1] ]
  kSlice,        // items[0] [ items[1] : items[2] : items[3] ], null where absent
  kCall,         // items[0] ( items[1...], named )
  kFilter,       // items[0] | filter ( items[1...], named ); items[0] is null for the value of a block
  kTest,         // items[0] is test ( items[1...], named )
  kNot,          // items[0]
  kNegate,       // items[0]
  kPositive,     // items[0]
  kAnd,          // items, at least two
  kOr,           // items, at least two
  kArithmetic,   // items and operators between them, from left to right: a chain nests no deeper than one operator
  kCompare,      // items and operators between them: a < b < c
  kConditional,  // items[0] if items[1] else items[2], null where absent
};

enum class Operator {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kConcat,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn
};

/// Operands of a call that are not plain positional ones.
struct NamedOperand {
  std::string name;  ///< "*" and "**" for what they unpack.
  ExprPtr value;
};

struct Expr {
  ExprKind kind;
  Position at;
  size_t depth = 1;  ///< Of the tree below it.
  std::string name;
  Value value;
  std::vector<ExprPtr> items;
  std::vector<Operator> operators;
  std::vector<NamedOperand> named;
  const FilterEntry* filter = nullptr;
  const TestEntry* test = nullptr;
};

/// Where an assignment goes: a name, a member of a namespace, or several of them.
struct Target {
  Position at;
  std::string name;    ///< Empty for several.
  std::string member;  ///< Empty for a plain name.
  std::vector<Target> targets;
};

struct Parameter {
  std::string name;
  ExprPtr default_value;  ///< Null where there is none.
};

enum class StmtKind {
  kText,      // text
  kPrint,     // expr
  kIf,        // branches; body for else
  kFor,       // target in expr if condition: body; else_body
  kSet,       // target = expr
  kSetBlock,  // target = body, through the filters of expr if it is not null
  kMacro,     // target.name, parameters, body
  kCall,      // expr (a kCall), parameters, body for caller()
  kFilter,    // body through expr
  kWith,      // assignments, body
  kBreak,
  kContinue,
  kScope,  // body in a scope of its own (generation blocks)
  kBlock,  // body, where a template that extends this one could put another
};

struct Stmt {
  StmtKind kind;
  Position at;
  Text text;
  ExprPtr expr;
  ExprPtr condition;
  Target target;
  std::vector<std::pair<ExprPtr, Body>> branches;
  std::vector<std::pair<Target, ExprPtr>> assignments;
  std::vector<Parameter> parameters;
  bool recursive = false;     ///< kFor: `loop` may be called.
  bool scoped = false;        ///< kBlock: sees what is around it.
  bool uses_varargs = false;  ///< The body names `varargs`: it takes further arguments.
  bool uses_kwargs = false;
  bool uses_caller = false;
  Body body;
  Body else_body;
};

}  // namespace prenorm::chat_template
