// Jinja source as tokens, with white space already removed as trim_blocks, lstrip_blocks, '-' and '+' ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_template/error.h"

namespace prenorm::chat_template {

enum class TokenKind {
  kText,        ///< Outside of tags.
  kBlockBegin,  ///< {%
  kBlockEnd,    ///< %}
  kPrintBegin,  ///< {{
  kPrintEnd,    ///< }}
  kName,
  kString,   ///< Without quotes and escapes.
  kInteger,  ///< Digits, maybe with a prefix such as 0x.
  kFloat,
  kSymbol,  ///< An operator or a bracket.
  kEnd,     ///< Of the source; the last token.
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  Position at;

  bool Is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
  bool IsName(std::string_view name) const { return Is(TokenKind::kName, name); }
  bool IsSymbol(std::string_view symbol) const { return Is(TokenKind::kSymbol, symbol); }
};

/// `source` is valid UTF-8. Throws TemplateError.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace prenorm::chat_template
