// The vocabulary as the models of the tokenizer see it.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "runtime/limits.h"
#include "runtime/tokenizer/token_map.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Built once, immutable afterwards; not movable, since the map refers to the tokens.
struct Vocabulary {
  std::vector<std::string_view> tokens;
  std::vector<float> scores;
  std::vector<TokenType> types;
  TokenMap map;
  std::array<TokenId, 256> byte_tokens{};  // "<0x41>" by byte, -1: none
  TokenId unknown = -1;
  bool byte_fallback = false;
  bool fuse_unknown = true;

  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  TokenType TypeOf(TokenId id) const { return types[static_cast<size_t>(id)]; }

  /// The token that plain text may become, -1 if there is none: never a control, byte or unknown token.
  TokenId FindPlain(std::string_view text) const {
    const TokenId id = map.Find(text);
    if (id < 0) return -1;
    const TokenType type = TypeOf(id);
    return type == TokenType::kNormal || type == TokenType::kUserDefined || type == TokenType::kUnused ? id : -1;
  }

  /// What stands for a character without a token: its bytes, else the unknown token (one for a run, if fused), else
  /// nothing. `*in_unknown_run` is the caller's memory of the token before.
  void AppendFallback(std::string_view character, bool* in_unknown_run, std::vector<TokenId>* out) const;
};

/// Bytes of the longest token of a vocabulary that is looked for at every place: BuildTokenizer refuses longer ones that
/// text may become.
inline size_t SearchedBytes(const Vocabulary& vocabulary) {
  return std::min(vocabulary.map.max_bytes(), kMaxSearchedTokenBytes);
}

/// Memory of one call of Encode, so that pieces need no allocation of their own.
struct MergeScratch;

/// Turns one piece of text into ids. Immutable.
class TextModel {
 public:
  virtual ~TextModel() = default;
  /// Appends the ids of `piece`, valid UTF-8 of less than 2^31 bytes.
  virtual void Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const = 0;
};

/// The models over a vocabulary that outlives them. kBadModel for merges of unknown tokens.
Result<std::unique_ptr<TextModel>> MakeBpe(const TokenizerSpec& spec, const Vocabulary& vocabulary);
std::unique_ptr<TextModel> MakeSpm(const Vocabulary& vocabulary);
std::unique_ptr<TextModel> MakeUnigram(const Vocabulary& vocabulary);
std::unique_ptr<TextModel> MakeWordPiece(const TokenizerSpec& spec, const Vocabulary& vocabulary);

}  // namespace prenorm
