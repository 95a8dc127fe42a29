// Blocks: {% ... %}.
#include <algorithm>
#include <array>

#include "runtime/chat_template/parser.h"

namespace prenorm::chat_template {
namespace {

constexpr std::array kUnsupportedTags = {"autoescape", "debug",   "do",    "extends",  "from",
                                         "import",     "include", "trans", "pluralize"};

}  // namespace

StmtPtr Parser::NewStmt(StmtKind kind) const {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->at = Peek().at;
  return stmt;
}

Body Parser::ParseTemplate() {
  Body body = ParseBody({});
  if (!unknown_.empty()) Fail(unknown_[0].message, unknown_[0].at, ErrorKind::kUnsupported);
  return body;
}

// Statements up to a block that begins with one of `ends`, whose name is the next token then.
Body Parser::ParseBody(std::initializer_list<std::string_view> ends) {
  const Nested nested(*this);
  Body body;
  while (Peek().kind != TokenKind::kEnd) {
    const Token& token = Peek();
    if (token.kind == TokenKind::kText) {
      StmtPtr stmt = NewStmt(StmtKind::kText);
      stmt->text = Text(Next().text, Origin::kTemplate);
      body.push_back(std::move(stmt));
    } else if (token.kind == TokenKind::kPrintBegin) {
      StmtPtr stmt = NewStmt(StmtKind::kPrint);
      Next();
      stmt->expr = ParseTuple();
      if (Peek().kind != TokenKind::kPrintEnd) FailUnexpected("'}}'");
      Next();
      body.push_back(std::move(stmt));
    } else {
      const Token& name = Peek(1);
      Next();
      if (name.kind == TokenKind::kName && std::find(ends.begin(), ends.end(), name.text) != ends.end()) return body;
      body.push_back(ParseStatement());
    }
  }
  if (ends.size() != 0) FailUnexpected("'{% " + std::string(*(ends.end() - 1)) + " %}'");
  return body;
}

StmtPtr Parser::ParseStatement() {
  const Token& tag = Peek();
  if (tag.IsName("if")) return ParseIf();
  if (tag.IsName("for")) return ParseFor();
  if (tag.IsName("set")) return ParseSet();
  if (tag.IsName("macro")) return ParseMacro();
  if (tag.IsName("call")) return ParseCallBlock();
  if (tag.IsName("filter")) return ParseFilterBlock();
  if (tag.IsName("with")) return ParseWith();
  if (tag.IsName("break")) return ParseJump(StmtKind::kBreak);
  if (tag.IsName("continue")) return ParseJump(StmtKind::kContinue);
  if (tag.IsName("generation")) return ParseGeneration();
  if (tag.IsName("block")) return ParseBlock();
  if (tag.kind != TokenKind::kName) FailUnexpected("the name of a block");
  const bool known = std::find(kUnsupportedTags.begin(), kUnsupportedTags.end(), tag.text) != kUnsupportedTags.end();
  if (known) {
    Fail("{% " + tag.text +
             " %} is not supported; these are: if for set macro call filter with break continue generation block",
         tag.at, ErrorKind::kUnsupported);
  }
  Fail("unknown block '" + tag.text + "'", tag.at);
}

void Parser::EndBlock() {
  if (Peek().kind != TokenKind::kBlockEnd) FailUnexpected("'%}'");
  Next();
}

StmtPtr Parser::ParseIf() {
  StmtPtr stmt = NewStmt(StmtKind::kIf);
  Next();
  const size_t unknown_before = unknown_.size();
  while (true) {
    ExprPtr condition = ParseTuple(false);
    EndBlock();
    Body body = ParseBody({"elif", "else", "endif"});
    stmt->branches.emplace_back(std::move(condition), std::move(body));
    if (AcceptName("elif")) continue;
    if (AcceptName("else")) {
      EndBlock();
      stmt->body = ParseBody({"endif"});
    }
    ExpectName("endif");
    EndBlock();
    unknown_.resize(unknown_before);
    return stmt;
  }
}

StmtPtr Parser::ParseFor() {
  StmtPtr stmt = NewStmt(StmtKind::kFor);
  Next();
  stmt->target = ParseTarget(false);
  ExpectName("in");
  stmt->expr = ParseTuple(false);
  if (AcceptName("if")) stmt->condition = ParseExpression();
  stmt->recursive = AcceptName("recursive");
  EndBlock();
  ++loops_;
  stmt->body = ParseBody({"endfor", "else"});
  --loops_;
  if (AcceptName("else")) {
    EndBlock();
    const size_t loops = stmt->recursive ? std::exchange(loops_, 0) : loops_;  // A function in Jinja: no jump leaves it.
    stmt->else_body = ParseBody({"endfor"});
    loops_ = loops;
  }
  ExpectName("endfor");
  EndBlock();
  return stmt;
}

Target Parser::ParseOneTarget(bool members) {
  const Nested nested(*this);
  if (AcceptSymbol("(")) {
    Target target = ParseTarget(members);
    ExpectSymbol(")");
    return target;
  }
  Target target;
  target.at = Peek().at;
  target.name = Identifier();
  static constexpr std::array kReserved = {"true", "false", "none", "True", "False", "None"};
  if (std::find(kReserved.begin(), kReserved.end(), target.name) != kReserved.end()) {
    Fail("cannot assign to '" + target.name + "'", target.at);
  }
  if (members && AcceptSymbol(".")) target.member = Identifier();
  return target;
}

Target Parser::ParseTarget(bool members) {
  const Position at = Peek().at;
  Target first = ParseOneTarget(members);
  if (!Peek().IsSymbol(",")) return first;
  Target tuple;
  tuple.at = at;
  tuple.targets.push_back(std::move(first));
  while (AcceptSymbol(",")) {
    if (Peek().kind != TokenKind::kName && !Peek().IsSymbol("(")) break;
    if (Peek().IsName("in")) break;
    tuple.targets.push_back(ParseOneTarget(members));
  }
  return tuple;
}

StmtPtr Parser::ParseSet() {
  StmtPtr stmt = NewStmt(StmtKind::kSet);
  Next();
  stmt->target = ParseTarget(true);
  if (AcceptSymbol("=")) {
    stmt->expr = ParseTuple();
    EndBlock();
    return stmt;
  }
  stmt->kind = StmtKind::kSetBlock;
  while (AcceptSymbol("|")) stmt->expr = ParseFilter(std::move(stmt->expr));
  EndBlock();
  stmt->body = ParseBody({"endset"});
  ExpectName("endset");
  EndBlock();
  return stmt;
}

std::vector<Parameter> Parser::ParseParameters() {
  ExpectSymbol("(");
  std::vector<Parameter> parameters;
  while (!AcceptSymbol(")")) {
    if (!parameters.empty()) ExpectSymbol(",");
    if (AcceptSymbol(")")) break;
    Parameter parameter;
    const Position at = Peek().at;
    parameter.name = Identifier();
    if (AcceptSymbol("=")) {
      parameter.default_value = ParseExpression();
    } else if (!parameters.empty() && parameters.back().default_value != nullptr) {
      Fail("a parameter without default follows one with a default", at);
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void Parser::ParseMacroBody(Stmt& stmt, std::string_view end) {
  const size_t loops = std::exchange(loops_, 0);
  Stmt* const macro = std::exchange(macro_, &stmt);
  stmt.body = ParseBody({end});
  loops_ = loops;
  macro_ = macro;
  ExpectName(end);
}

StmtPtr Parser::ParseMacro() {
  StmtPtr stmt = NewStmt(StmtKind::kMacro);
  Next();
  stmt->target.at = Peek().at;
  stmt->target.name = Identifier();
  stmt->parameters = ParseParameters();
  EndBlock();
  ParseMacroBody(*stmt, "endmacro");
  if (Peek().kind == TokenKind::kName) Next();  // Its name may be repeated.
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseCallBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kCall);
  Next();
  if (Peek().IsSymbol("(")) stmt->parameters = ParseParameters();
  const Position at = Peek().at;
  stmt->expr = ParseExpression();
  if (stmt->expr->kind != ExprKind::kCall) Fail("expected a call", at);
  EndBlock();
  ParseMacroBody(*stmt, "endcall");
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseFilterBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kFilter);
  Next();
  do stmt->expr = ParseFilter(std::move(stmt->expr));
  while (AcceptSymbol("|"));
  EndBlock();
  stmt->body = ParseBody({"endfilter"});
  ExpectName("endfilter");
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseWith() {
  StmtPtr stmt = NewStmt(StmtKind::kWith);
  Next();
  while (Peek().kind != TokenKind::kBlockEnd) {
    if (!stmt->assignments.empty()) ExpectSymbol(",");
    Target target = ParseOneTarget(false);
    ExpectSymbol("=");
    ExprPtr value = ParseExpression();
    stmt->assignments.emplace_back(std::move(target), std::move(value));
  }
  EndBlock();
  stmt->body = ParseBody({"endwith"});
  ExpectName("endwith");
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseJump(StmtKind kind) {
  StmtPtr stmt = NewStmt(kind);
  if (loops_ == 0) Fail("'" + Peek().text + "' outside of a loop", stmt->at);
  Next();
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseGeneration() {
  StmtPtr stmt = NewStmt(StmtKind::kScope);
  Next();
  EndBlock();
  const size_t loops = std::exchange(loops_, 0);  // The block is a call in transformers: no jump leaves it.
  stmt->body = ParseBody({"endgeneration"});
  loops_ = loops;
  ExpectName("endgeneration");
  EndBlock();
  return stmt;
}

StmtPtr Parser::ParseBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kBlock);
  Next();
  const Position at = Peek().at;
  const std::string name = Identifier();
  if (!blocks_.insert(name).second) Fail("block '" + name + "' defined twice", at);
  while (Peek().kind != TokenKind::kBlockEnd) {
    if (Peek().IsName("required")) Fail("a required block needs a template that extends this one", Peek().at);
    if (!AcceptName("scoped")) FailUnexpected("'%}'");
    stmt->scoped = true;
  }
  EndBlock();
  const size_t loops = std::exchange(loops_, 0);  // A function in Jinja: no jump leaves it.
  stmt->body = ParseBody({"endblock"});
  loops_ = loops;
  ExpectName("endblock");
  if (Peek().kind == TokenKind::kName) ExpectName(name);  // It may be repeated.
  EndBlock();
  return stmt;
}

}  // namespace prenorm::chat_template
