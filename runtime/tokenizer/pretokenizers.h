// Pre-tokenizers that GGUF files name: how each cuts text, and what else the name implies.
#pragma once

#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/tokenizer/splitter.h"

namespace prenorm {

/// What a name in tokenizer.ggml.pre stands for.
struct Pretokenizer {
  SplitSteps splits;
  bool nfc = false;            ///< The models of that name normalize to NFC.
  bool ignore_merges = false;  ///< A piece that is a token is that token.
  bool adds_bos = false;       ///< Unless the file says otherwise.
  bool byte_level = true;      ///< Tokens are bytes in GPT-2's alphabet, else text,
  bool marks_spaces = false;   ///< with U+2581 for spaces.
};

/// kUnsupported for a name that is not known, with the ones that are.
Result<Pretokenizer> FindPretokenizer(std::string_view name);

/// The known names, those that are most used for their kind of cuts first.
std::vector<std::string_view> PretokenizerNames();

/// BERT's: white space is dropped, each punctuation character is a piece.
Result<SplitSteps> BertSplits();

/// The expression of GPT-2, which Hugging Face's ByteLevel pre-tokenizer applies by itself.
std::string_view Gpt2Pattern();

}  // namespace prenorm
