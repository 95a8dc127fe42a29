// Expressions, from the loosest binding to the tightest.
#include <charconv>
#include <algorithm>
#include <cstdlib>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/methods.h"
#include "runtime/chat_template/parser.h"
#include "runtime/chat_template/tests.h"

namespace prenorm::chat_template {

ExprPtr Parser::NewExpr(ExprKind kind, const Position& at, ExprPtr first) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  if (first != nullptr) AddItem(*expr, std::move(first));
  return expr;
}

void Parser::AddItem(Expr& expr, ExprPtr item) const {
  if (item != nullptr) {
    expr.depth = std::max(expr.depth, item->depth + 1);
    CheckDepth(expr.depth, expr.at);
  }
  expr.items.push_back(std::move(item));
}

ExprPtr Parser::ParseExpression(bool conditional) {
  const Nested nested(*this);
  const size_t unknown_before = unknown_.size();
  ExprPtr expr = ParseOr();
  while (conditional && Peek().IsName("if")) {
    ExprPtr whole = NewExpr(ExprKind::kConditional, Next().at, std::move(expr));
    AddItem(*whole, ParseOr());
    AddItem(*whole, AcceptName("else") ? ParseExpression() : nullptr);
    expr = std::move(whole);
    unknown_.resize(unknown_before);
  }
  return expr;
}

// One expression, or several with commas between.
ExprPtr Parser::ParseTuple(bool conditional) {
  const Position at = Peek().at;
  ExprPtr first = ParseExpression(conditional);
  if (!Peek().IsSymbol(",")) return first;
  ExprPtr tuple = NewExpr(ExprKind::kTuple, at, std::move(first));
  while (AcceptSymbol(",")) {
    const Token& token = Peek();
    if (token.kind == TokenKind::kBlockEnd || token.kind == TokenKind::kPrintEnd || token.IsSymbol(")")) break;
    AddItem(*tuple, ParseExpression(conditional));
  }
  return tuple;
}

ExprPtr Parser::ParseOr() {
  ExprPtr expr = ParseAnd();
  if (!Peek().IsName("or")) return expr;
  ExprPtr whole = NewExpr(ExprKind::kOr, Peek().at, std::move(expr));
  while (AcceptName("or")) AddItem(*whole, ParseAnd());
  return whole;
}

ExprPtr Parser::ParseAnd() {
  ExprPtr expr = ParseNot();
  if (!Peek().IsName("and")) return expr;
  ExprPtr whole = NewExpr(ExprKind::kAnd, Peek().at, std::move(expr));
  while (AcceptName("and")) AddItem(*whole, ParseNot());
  return whole;
}

ExprPtr Parser::ParseNot() {
  if (!Peek().IsName("not")) return ParseCompare();
  const Nested nested(*this);
  const Position at = Next().at;
  return NewExpr(ExprKind::kNot, at, ParseNot());
}

ExprPtr Parser::ParseCompare() {
  ExprPtr whole = ParseSum();
  for (bool alone = true;; alone = false) {
    static constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"==", Operator::kEq}, {"!=", Operator::kNe}, {"<", Operator::kLt},
        {"<=", Operator::kLe}, {">", Operator::kGt},  {">=", Operator::kGe}};
    const Token& token = Peek();
    const Position at = token.at;
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](const auto& o) { return token.IsSymbol(o.first); });
    Operator op{};
    if (found != std::end(kOperators)) {
      op = found->second;
      Next();
    } else if (AcceptName("in")) {
      op = Operator::kIn;
    } else if (token.IsName("not") && Peek(1).IsName("in")) {
      op = Operator::kNotIn;
      Next();
      Next();
    } else {
      return whole;
    }
    if (alone) whole = NewExpr(ExprKind::kCompare, at, std::move(whole));
    whole->operators.push_back(op);
    AddItem(*whole, ParseSum());
  }
}

ExprPtr Parser::ParseChain(Rule operand, Operators operators) {
  ExprPtr whole = (this->*operand)();
  for (bool alone = true;; alone = false) {
    const Token& token = Peek();
    const auto* found =
        std::find_if(operators.begin(), operators.end(), [&](const auto& o) { return token.IsSymbol(o.first); });
    if (found == operators.end()) return whole;
    const Position at = Next().at;
    if (alone) whole = NewExpr(ExprKind::kArithmetic, at, std::move(whole));
    whole->operators.push_back(found->second);
    AddItem(*whole, (this->*operand)());
  }
}

ExprPtr Parser::ParseSum() { return ParseChain(&Parser::ParseConcat, {{"+", Operator::kAdd}, {"-", Operator::kSub}}); }

ExprPtr Parser::ParseConcat() { return ParseChain(&Parser::ParseProduct, {{"~", Operator::kConcat}}); }

ExprPtr Parser::ParseProduct() {
  return ParseChain(&Parser::ParsePower,
                    {{"*", Operator::kMul}, {"/", Operator::kDiv}, {"//", Operator::kFloorDiv}, {"%", Operator::kMod}});
}

ExprPtr Parser::ParsePower() {
  ExprPtr whole = ParseUnary();
  for (bool alone = true; Peek().IsSymbol("**"); alone = false) {
    const Position at = Next().at;
    if (alone) whole = NewExpr(ExprKind::kArithmetic, at, std::move(whole));
    whole->operators.push_back(Operator::kPow);
    AddItem(*whole, ParseUnary());
  }
  return whole;
}

ExprPtr Parser::ParseUnary(bool filters) {
  const Nested nested(*this);
  ExprPtr expr;
  if (Peek().IsSymbol("-") || Peek().IsSymbol("+")) {
    const Token sign = Next();
    expr = NewExpr(sign.text == "-" ? ExprKind::kNegate : ExprKind::kPositive, sign.at, ParseUnary(false));
  } else {
    expr = ParsePrimary();
  }
  expr = ParsePostfix(std::move(expr));
  return filters ? ParseFilters(std::move(expr)) : std::move(expr);
}

ExprPtr Parser::ParsePrimary() {
  const Token token = Peek();
  const auto constant = [&](Value value) {
    ExprPtr expr = NewExpr(ExprKind::kConstant, token.at);
    expr->value = std::move(value);
    return expr;
  };
  switch (token.kind) {
    case TokenKind::kName: {
      Next();
      if (token.text == "true" || token.text == "True") return constant(Value(true));
      if (token.text == "false" || token.text == "False") return constant(Value(false));
      if (token.text == "none" || token.text == "None") return constant(Value());
      ExprPtr expr = NewExpr(ExprKind::kName, token.at);
      expr->name = token.text;
      if (macro_ != nullptr) {
        macro_->uses_varargs |= token.text == "varargs";
        macro_->uses_kwargs |= token.text == "kwargs";
        macro_->uses_caller |= token.text == "caller";
      }
      return expr;
    }
    case TokenKind::kString: {
      std::string text;
      while (Peek().kind == TokenKind::kString) text += Next().text;  // Neighbours are one string.
      return constant(Value::String(text));
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      Next();
      return ParseNumber(token);
    default:
      break;
  }
  if (token.IsSymbol("[")) return ParseList();
  if (token.IsSymbol("{")) return ParseDict();
  if (!AcceptSymbol("(")) FailUnexpected("an expression");
  if (AcceptSymbol(")")) return NewExpr(ExprKind::kTuple, token.at);
  ExprPtr expr = ParseTuple();
  ExpectSymbol(")");
  return expr;
}

ExprPtr Parser::ParseNumber(const Token& token) {
  ExprPtr expr = NewExpr(ExprKind::kConstant, token.at);
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  if (token.kind == TokenKind::kFloat) {
    double number = 0;
    if (std::from_chars(begin, end, number).ec == std::errc::result_out_of_range)
      number = std::strtod(token.text.c_str(), nullptr);
    expr->value = Value(number);
    return expr;
  }
  int base = 10;
  if (token.text.size() > 2 && token.text[0] == '0') {
    const char kind = static_cast<char>(token.text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) begin += 2;
  }
  int64_t number = 0;
  const auto result = std::from_chars(begin, end, number, base);
  if (result.ec != std::errc() || result.ptr != end)
    Fail("the integer " + token.text + " is not supported", token.at, ErrorKind::kUnsupported);
  expr->value = Value(number);
  return expr;
}

ExprPtr Parser::ParseList() {
  ExprPtr list = NewExpr(ExprKind::kList, Next().at);
  while (!AcceptSymbol("]")) {
    if (!list->items.empty()) ExpectSymbol(",");
    if (AcceptSymbol("]")) break;
    AddItem(*list, ParseExpression());
  }
  return list;
}

ExprPtr Parser::ParseDict() {
  ExprPtr dict = NewExpr(ExprKind::kDict, Next().at);
  while (!AcceptSymbol("}")) {
    if (!dict->items.empty()) ExpectSymbol(",");
    if (AcceptSymbol("}")) break;
    AddItem(*dict, ParseExpression());
    ExpectSymbol(":");
    AddItem(*dict, ParseExpression());
  }
  return dict;
}

ExprPtr Parser::ParsePostfix(ExprPtr expr) {
  while (true) {
    if (Peek().IsSymbol(".")) {
      expr = ParseDot(std::move(expr));
    } else if (Peek().IsSymbol("[")) {
      expr = ParseBrackets(std::move(expr));
    } else if (Peek().IsSymbol("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr Parser::ParseCall(ExprPtr callee) {
  ExprPtr call = NewExpr(ExprKind::kCall, Peek().at, std::move(callee));
  ParseArguments(*call);
  return call;
}

ExprPtr Parser::ParseDot(ExprPtr expr) {
  Next();
  const Token token = Peek();
  if (token.kind == TokenKind::kInteger) {
    ExprPtr subscript = NewExpr(ExprKind::kSubscript, token.at, std::move(expr));
    Next();
    AddItem(*subscript, ParseNumber(token));
    return subscript;
  }
  ExprPtr attribute = NewExpr(ExprKind::kAttribute, token.at, std::move(expr));
  attribute->name = Identifier();
  if (Peek().IsSymbol("(") && IsUnsupportedMethod(attribute->name)) {
    unknown_.push_back({"the method '" + attribute->name + "' is not supported", token.at});
  }
  return attribute;
}

ExprPtr Parser::ParseBrackets(ExprPtr expr) {
  const Position at = Next().at;
  ExprPtr parts[3];
  size_t colons = 0;
  while (!Peek().IsSymbol("]")) {
    if (AcceptSymbol(":")) {
      if (++colons > 2) Fail("a slice has at most two colons", at);
      continue;
    }
    if (parts[colons] != nullptr) FailUnexpected("']'");
    parts[colons] = ParseExpression();
    if (Peek().IsSymbol(",")) {
      if (colons > 0) Fail("slices of several dimensions are not supported", at, ErrorKind::kUnsupported);
      ExprPtr tuple = NewExpr(ExprKind::kTuple, at, std::move(parts[0]));
      while (AcceptSymbol(",")) AddItem(*tuple, ParseExpression());
      parts[0] = std::move(tuple);
    }
  }
  ExpectSymbol("]");
  if (colons == 0 && parts[0] == nullptr) Fail("expected an index", at);
  ExprPtr out = NewExpr(colons == 0 ? ExprKind::kSubscript : ExprKind::kSlice, at, std::move(expr));
  for (size_t i = 0; i < (colons == 0 ? 1 : 3); ++i) AddItem(*out, std::move(parts[i]));
  return out;
}

ExprPtr Parser::ParseFilters(ExprPtr expr) {
  while (true) {
    if (AcceptSymbol("|")) {
      expr = ParseFilter(std::move(expr));
    } else if (Peek().IsName("is")) {
      expr = ParseTest(std::move(expr));
    } else if (Peek().IsSymbol("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      return expr;
    }
  }
}

// Behind the bar. `expr` is null where the filtered value is a block's.
ExprPtr Parser::ParseFilter(ExprPtr expr) {
  const Position at = Peek().at;
  ExprPtr filter = NewExpr(ExprKind::kFilter, at);
  AddItem(*filter, std::move(expr));
  filter->name = Identifier();
  while (AcceptSymbol(".")) filter->name += "." + Identifier();
  filter->filter = FindFilter(filter->name);
  if (filter->filter == nullptr) unknown_.push_back({UnknownFilter(filter->name), at});
  if (Peek().IsSymbol("(")) ParseArguments(*filter);
  return filter;
}

ExprPtr Parser::ParseTest(ExprPtr expr) {
  Next();
  const bool negated = AcceptName("not");
  const Position at = Peek().at;
  ExprPtr test = NewExpr(ExprKind::kTest, at, std::move(expr));
  test->name = Identifier();
  test->test = FindTest(test->name);
  if (test->test == nullptr) unknown_.push_back({UnknownTest(test->name), at});
  const Token& token = Peek();
  if (token.IsSymbol("(")) {
    ParseArguments(*test);
  } else if ((token.kind == TokenKind::kName && !token.IsName("else") && !token.IsName("or") && !token.IsName("and")) ||
             token.kind == TokenKind::kString || token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
             token.IsSymbol("[") || token.IsSymbol("{")) {
    if (token.IsName("is")) Fail("tests cannot follow each other", token.at);
    AddItem(*test, ParsePostfix(ParsePrimary()));
  }
  return negated ? NewExpr(ExprKind::kNot, at, std::move(test)) : std::move(test);
}

void Parser::ParseArguments(Expr& call) {
  ExpectSymbol("(");
  bool first = true;
  while (!AcceptSymbol(")")) {
    if (!first) ExpectSymbol(",");
    if (AcceptSymbol(")")) break;
    first = false;
    NamedOperand operand;
    if (AcceptSymbol("**")) {
      operand.name = "**";
    } else if (AcceptSymbol("*")) {
      operand.name = "*";
    } else if (Peek().kind == TokenKind::kName && Peek(1).IsSymbol("=")) {
      operand.name = Next().text;
      Next();
    } else {
      if (!call.named.empty()) FailUnexpected("a named argument");
      AddItem(call, ParseExpression());
      continue;
    }
    operand.value = ParseExpression();
    call.depth = std::max(call.depth, operand.value->depth + 1);
    CheckDepth(call.depth, call.at);
    call.named.push_back(std::move(operand));
  }
}

}  // namespace prenorm::chat_template
