// Small tokenizers of our own for tests: trained or written out in place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Vocabulary of a description under construction; strings live as long as the spec.
class SpecMaker {
 public:
  SpecMaker();
  TokenId Add(std::string_view text, TokenType type = TokenType::kNormal, float score = 0);
  /// A merge of two tokens; the result is added if it is not there yet.
  void AddMerge(std::string_view left, std::string_view right);
  TokenId Find(std::string_view text) const;
  void AddNormalizer(NormalizerStep::Kind kind, std::string_view pattern = {}, std::string_view text = {});
  /// "<0x00>" to "<0xFF>".
  void AddByteTokens();
  TokenizerSpec& spec() { return spec_; }
  std::unique_ptr<Tokenizer> Build();

 private:
  std::string_view Keep(std::string_view text);
  std::shared_ptr<std::vector<std::unique_ptr<std::string>>> strings_;
  TokenizerSpec spec_;
};

/// Byte-level BPE without merges: control tokens <|endoftext|>, <|im_start|>, <|im_end|> (ids 0, 1, 2; BOS is 1), then
/// the 256 bytes, cut by the named pre-tokenizer.
SpecMaker ByteLevelMaker(std::string_view pretokenizer);

/// The same with `merges` merges learnt from a text about many scripts.
SpecMaker TrainedMaker(std::string_view pretokenizer, size_t merges);

/// Llama-2's kind: <unk>, <s>, </s>, byte tokens, marked spaces and a few words; with a space before a text.
SpecMaker SpmMaker(bool space_prefix = true);

/// Pieces of Encode, joined with "|" (specials shown).
std::string Pieces(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {});

/// Texts that must come back byte for byte: scripts, joiners, selectors, flags, combining marks, white space.
std::vector<std::string> DifficultTexts();

}  // namespace prenorm
