// Tokens to a tree, by Jinja's grammar. Whatever the engine does not have is refused here, by name; filters, tests and
// methods inside of an `if` only when they are reached, as Jinja does.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_template/ast.h"
#include "runtime/chat_template/lexer.h"
#include "runtime/limits.h"

namespace prenorm::chat_template {

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Limits& limits) : tokens_(std::move(tokens)), limits_(limits) {}

  /// The whole template. Throws TemplateError with a position.
  Body ParseTemplate();

 private:
  class Nested;  // Counts calls inside each other.

  // parser.cc
  const Token& Peek(size_t ahead = 0) const;
  Token Next();
  bool AcceptSymbol(std::string_view symbol);
  bool AcceptName(std::string_view name);
  void ExpectSymbol(std::string_view symbol);
  void ExpectName(std::string_view name);
  std::string Identifier();
  [[noreturn]] void Fail(const std::string& message, const Position& at, ErrorKind kind = ErrorKind::kTemplate) const;
  [[noreturn]] void FailUnexpected(const std::string& expected) const;
  void CheckDepth(size_t depth, const Position& at) const;

  // parse_statements.cc
  Body ParseBody(std::initializer_list<std::string_view> ends);
  StmtPtr ParseStatement();
  StmtPtr ParseIf();
  StmtPtr ParseFor();
  StmtPtr ParseSet();
  StmtPtr ParseMacro();
  StmtPtr ParseCallBlock();
  StmtPtr ParseFilterBlock();
  StmtPtr ParseWith();
  StmtPtr ParseJump(StmtKind kind);
  StmtPtr ParseGeneration();
  StmtPtr ParseBlock();
  std::vector<Parameter> ParseParameters();
  Target ParseTarget(bool members);
  Target ParseOneTarget(bool members);
  void EndBlock();
  void ParseMacroBody(Stmt& stmt, std::string_view end);
  StmtPtr NewStmt(StmtKind kind) const;

  // parse_expressions.cc
  ExprPtr ParseExpression(bool conditional = true);
  ExprPtr ParseTuple(bool conditional = true);
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool filters = true);
  ExprPtr ParsePrimary();
  ExprPtr ParseNumber(const Token& token);
  ExprPtr ParseList();
  ExprPtr ParseDict();
  ExprPtr ParsePostfix(ExprPtr expr);
  ExprPtr ParseCall(ExprPtr callee);
  ExprPtr ParseDot(ExprPtr expr);
  ExprPtr ParseBrackets(ExprPtr expr);
  ExprPtr ParseFilters(ExprPtr expr);
  ExprPtr ParseFilter(ExprPtr expr);
  ExprPtr ParseTest(ExprPtr expr);
  void ParseArguments(Expr& call);
  using Rule = ExprPtr (Parser::*)();
  using Operators = std::initializer_list<std::pair<std::string_view, Operator>>;
  ExprPtr ParseChain(Rule operand, Operators operators);
  ExprPtr NewExpr(ExprKind kind, const Position& at, ExprPtr first = nullptr) const;
  void AddItem(Expr& expr, ExprPtr item) const;

  struct Unknown {
    std::string message;
    Position at;
  };

  std::vector<Token> tokens_;
  std::vector<Unknown> unknown_;  // What there is not, and no `if` stands around.
  const Limits& limits_;
  size_t at_ = 0;
  size_t depth_ = 0;
  Stmt* macro_ = nullptr;         // Around the expression that is being parsed.
  std::set<std::string> blocks_;  // Names so far.
  size_t loops_ = 0;              // Loops around the statement that is being parsed, within its macro.
};

/// As long as it lives, one level of nesting more.
class Parser::Nested {
 public:
  explicit Nested(Parser& parser) : parser_(parser) { parser_.CheckDepth(++parser_.depth_, parser_.Peek().at); }
  ~Nested() { --parser_.depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Parser& parser_;
};

}  // namespace prenorm::chat_template
