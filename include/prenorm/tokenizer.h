// Text to token ids and back, and streaming of whole characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

struct TokenizerSpec;

/// Index of a token in the vocabulary, 0 to vocab_size() - 1.
using TokenId = int32_t;

struct EncodeOptions {
  /// Adds what the model puts around a text (BOS, EOS, [CLS] and [SEP]). A BOS that the text itself begins with
  /// (see parse_special) is not doubled.
  bool add_special = false;
  /// Markers of control tokens in the text ("<|im_end|>") become control ids; otherwise they are text like any other.
  bool parse_special = false;
  /// Most ids of the result, 0 for any number. What is too much is left out at the end of the text, before what
  /// add_special puts behind it.
  size_t max_tokens = 0;
};

/// A part of a text with its own rule for markers: templates parse them, what a user wrote does not.
struct TextSegment {
  std::string_view text;       ///< UTF-8.
  bool parse_special = false;  ///< As in EncodeOptions.
};

/// A vocabulary with its rules. Immutable: any number of threads may use one object.
class Tokenizer {
 public:
  /// The tokenizer of a GGUF file, with weights or without, or of a folder with tokenizer.json or tokenizer.model. The
  /// model's architecture does not matter. Errors: kNotFound, kIo, kBadModel, kUnsupported, kOutOfMemory.
  static Result<std::unique_ptr<Tokenizer>> Load(const std::string& path);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The ids of a text.
  ///
  /// Text    UTF-8. Each maximal ill-formed part (Unicode 15, 3.9, "U+FFFD substitution of maximal subparts") is read
  ///         as U+FFFD; all else is tokenized normally. "" has no ids but those of add_special.
  /// Length  up to 2^31 - 1 bytes; time is O(n log n), stack use is constant.
  /// Errors  kInvalidArgument for a longer text; kUnsupported where a regular expression of the model gives up
  ///         on it; kOutOfMemory.
  Result<std::vector<TokenId>> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// As Encode of the joined text, but a marker becomes a control id only where it lies wholly in segments that
  /// parse it.
  Result<std::vector<TokenId>> EncodeSegments(std::span<const TextSegment> segments, bool add_special = false,
                                              size_t max_tokens = 0) const;

  /// The bytes that one id stands for: possibly a part of a character. Control tokens and the unknown token are empty
  /// unless `with_special`; so are ids outside the vocabulary (models may have more embedding rows than tokens).
  std::string Piece(TokenId id, bool with_special = false) const;

  /// The text of a sequence: all pieces joined, without the space that the model itself puts before a text, valid UTF-8
  /// (each maximal ill-formed part becomes U+FFFD). No other clean-up takes place.
  std::string Decode(std::span<const TokenId> ids, bool with_special = false) const;

  size_t vocab_size() const;
  /// The entry as the model file has it; empty for ids outside the vocabulary.
  std::string_view TokenText(TokenId id) const;
  /// The id of such an entry.
  std::optional<TokenId> Find(std::string_view token_text) const;

  /// Beginning of a text, -1 if the model has none.
  TokenId bos() const;
  /// Whether add_special puts bos() first.
  bool adds_bos() const;
  /// End of a text, the first that the model file names; -1 if the model has none.
  TokenId eos() const;
  /// Every token that ends an answer (end of text, of turn, of message), ascending; may be empty.
  std::span<const TokenId> end_tokens() const;
  bool IsControl(TokenId id) const;
  /// Whether texts get a space in front that is not theirs (SentencePiece's dummy prefix).
  bool adds_space_prefix() const;

  /// What the model file leaves open or contradicts, one sentence each; tools print them.
  const std::vector<std::string>& warnings() const;

 private:
  friend Result<std::unique_ptr<Tokenizer>> BuildTokenizer(TokenizerSpec spec);
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Turns ids into text one at a time and never hands out a part of a character. What Push and Flush return, joined,
/// equals Tokenizer::Decode of all ids. Used by one thread at a time; the tokenizer must outlive it.
class StreamDecoder {
 public:
  /// `continues_text`: the ids go on after earlier text, so their first space belongs to them.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool continues_text = false, bool with_special = false);

  /// The characters that are complete now; empty while one is not.
  std::string Push(TokenId id);
  /// What is left at the end: U+FFFD for a character that never became complete.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool drop_space_;
  bool with_special_;
};

}  // namespace prenorm
