// Token handling that statements and expressions share.
#include "runtime/chat_template/parser.h"

#include <algorithm>

namespace prenorm::chat_template {

const Token& Parser::Peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

Token Parser::Next() {
  Token token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::AcceptSymbol(std::string_view symbol) {
  if (!Peek().IsSymbol(symbol)) return false;
  ++at_;
  return true;
}

bool Parser::AcceptName(std::string_view name) {
  if (!Peek().IsName(name)) return false;
  ++at_;
  return true;
}

void Parser::ExpectSymbol(std::string_view symbol) {
  if (!AcceptSymbol(symbol)) FailUnexpected("'" + std::string(symbol) + "'");
}

void Parser::ExpectName(std::string_view name) {
  if (!AcceptName(name)) FailUnexpected("'" + std::string(name) + "'");
}

std::string Parser::Identifier() {
  if (Peek().kind != TokenKind::kName) FailUnexpected("a name");
  return Next().text;
}

void Parser::Fail(const std::string& message, const Position& at, ErrorKind kind) const {
  throw TemplateError(message, kind, at);
}

void Parser::FailUnexpected(const std::string& expected) const {
  const Token& token = Peek();
  std::string found = "'" + token.text + "'";
  switch (token.kind) {
    case TokenKind::kEnd:
      found = "the end of the template";
      break;
    case TokenKind::kText:
      found = "text";
      break;
    case TokenKind::kBlockBegin:
      found = "'{%'";
      break;
    case TokenKind::kBlockEnd:
      found = "'%}'";
      break;
    case TokenKind::kPrintBegin:
      found = "'{{'";
      break;
    case TokenKind::kPrintEnd:
      found = "'}}'";
      break;
    case TokenKind::kString:
      found = "a string";
      break;
    default:
      break;
  }
  Fail("expected " + expected + ", found " + found, token.at);
}

void Parser::CheckDepth(size_t depth, const Position& at) const {
  if (depth <= limits_.nesting) return;
  Fail("the template nests deeper than " + std::to_string(limits_.nesting) + " levels", at, ErrorKind::kLimit);
}

}  // namespace prenorm::chat_template
