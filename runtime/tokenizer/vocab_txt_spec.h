// The tokenizer of BERT's first checkpoints: vocab.txt, one token a line, and the flags of tokenizer_config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

struct VocabTxtOptions {
  bool lowercase = true;                             ///< "do_lower_case"
  std::optional<bool> strip_accents = std::nullopt;  ///< Absent: as lowercase.
  bool spaces_cjk = true;                            ///< "tokenize_chinese_chars"
};

/// Reads the lines of `text`; the result owns what it needs, `source` names the file in messages. [UNK], [CLS] and
/// [SEP] must be there. Errors: kBadModel.
Result<TokenizerSpec> SpecFromVocabTxt(std::string_view text, const VocabTxtOptions& options,
                                       const std::string& source);

/// Adds what BERT does to a text before its words are cut into pieces, and how pieces become text.
Status AddBertSteps(const VocabTxtOptions& options, TokenizerSpec* spec);

}  // namespace prenorm
