// Description of a tokenizer, filled by the readers of model files and turned into a Tokenizer by BuildTokenizer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/tokenizer.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/splitter.h"

namespace prenorm {

/// How the pieces of a text become ids.
enum class TokenModelKind {
  kBpe,        ///< Ranked merges of pairs (Sennrich et al. 2016), on bytes or on characters.
  kSpm,        ///< SentencePiece BPE: pairs merge by the score of the result.
  kUnigram,    ///< SentencePiece unigram: the segmentation with the highest sum of scores (Kudo 2018).
  kWordPiece,  ///< Longest match first (BERT).
};

/// Values as in GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      ///< Never the result of plain text.
  kUserDefined = 4,  ///< Found in the text before all else.
  kUnused = 5,
  kByte = 6,   ///< "<0x0A>": one byte of a character that has no token.
  kAdded = 7,  ///< Found in the text as kUserDefined, but unknown to the model (tokenizer.json only).
};

/// How pieces become text.
enum class DecoderKind {
  kByteLevel,     ///< Each character of a token stands for a byte (GPT-2).
  kMarkedSpaces,  ///< U+2581 is a space, byte tokens are bytes (SentencePiece).
  kWordPiece,     ///< As kMarkedSpaces, or a space before each token without the continuation prefix.
};

/// A merge of two neighbours; its rank is its index.
struct Merge {
  std::string_view left;
  std::string_view right;
};

/// A token that is looked for in the text before the model sees it.
struct AddedToken {
  TokenId id = -1;
  std::string text;          ///< What is looked for.
  bool special = false;      ///< Only where markers are parsed.
  bool lstrip = false;       ///< Swallows white space before it.
  bool rstrip = false;       ///< Swallows white space after it.
  bool single_word = false;  ///< Only where no word character touches it.
  bool normalized = false;   ///< Looked for in the normalized text.
};

/// Everything a tokenizer is made of. Views point into `storage` or into memory that outlives the tokenizer.
struct TokenizerSpec {
  std::shared_ptr<const void> storage;
  std::shared_ptr<const void> merge_storage;  ///< What `merges` alone point into; freed once they are tables.
  std::string source;                         ///< File name for messages.

  TokenModelKind kind = TokenModelKind::kBpe;
  std::vector<std::string_view> tokens;  ///< By id. At most kMaxTokens, each at most kMaxTokenBytes.
  std::vector<float> scores;             ///< By id; kSpm and kUnigram only.
  std::vector<TokenType> types;          ///< By id, or empty: all normal.
  std::vector<Merge> merges;             ///< kBpe only.
  std::vector<AddedToken> added;         ///< In addition to the types: at most one entry for an id.

  bool byte_level = false;     ///< kBpe: the tokens are bytes in GPT-2's alphabet.
  bool byte_fallback = false;  ///< Characters without a token become byte tokens.
  bool ignore_merges = false;  ///< kBpe: a piece that is itself a token is that token.
  bool fuse_unknown = true;    ///< Neighbouring unknown characters are one unknown token.
  /// kWordPiece: tokens that begin a word carry this prefix ...
  std::string word_prefix;
  /// ... and the others this one.
  std::string continuing_prefix;
  size_t max_word_chars = 100;  ///< kWordPiece: longer words are unknown.

  NormalizerSteps normalizer;  ///< Applied to each stretch of text between added tokens.
  SplitSteps splits;           ///< Then these cut it into pieces.
  DecoderKind decoder = DecoderKind::kByteLevel;
  bool drops_space_prefix = false;  ///< Decode drops one space at the very start.

  TokenId unknown = -1;
  TokenId bos = -1;
  std::vector<TokenId> prefix;      ///< What add_special puts before a text,
  std::vector<TokenId> suffix;      ///< and after it.
  std::vector<TokenId> end_tokens;  ///< Any order, repetitions allowed.
  std::vector<std::string> warnings;
};

/// Checks the description and builds the tables. Errors: kBadModel for a description that contradicts itself (ids
/// outside the vocabulary, merges of unknown tokens, too many or too long tokens); kUnsupported for a regular
/// expression that PCRE2 does not take.
Result<std::unique_ptr<Tokenizer>> BuildTokenizer(TokenizerSpec spec);

}  // namespace prenorm
