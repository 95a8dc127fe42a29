// What a Tokenizer holds.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tokenizer/added_tokens.h"
#include "runtime/tokenizer/tokenizer_spec.h"
#include "runtime/tokenizer/vocabulary.h"
#include "runtime/tokenizer/word_cuts.h"

namespace prenorm {

struct TokenizerParts {
  TokenizerSpec spec;  // without what moved into the tables below
  Vocabulary vocabulary;
  std::unique_ptr<TextModel> model;
  WordCuts cuts;
  std::unique_ptr<AddedTokens> raw_added;         // found in the text as given
  std::unique_ptr<AddedTokens> normalized_added;  // found after normalization
  std::vector<TokenId> end_tokens;                // ascending, each once

  bool Contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < vocabulary.tokens.size(); }
};

struct Tokenizer::Impl : TokenizerParts {};

}  // namespace prenorm
