// Reads vocab.txt.
#include "runtime/tokenizer/vocab_txt_spec.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/limits.h"
#include "runtime/tokenizer/pretokenizers.h"
#include "runtime/tokenizer/string_arena.h"

namespace prenorm {

Status AddBertSteps(const VocabTxtOptions& options, TokenizerSpec* spec) {
  using Kind = NormalizerStep::Kind;
  const auto add = [&](Kind kind) {
    NormalizerStep step;
    step.kind = kind;
    spec->normalizer.push_back(std::move(step));
  };
  spec->kind = TokenModelKind::kWordPiece;
  spec->decoder = DecoderKind::kWordPiece;
  spec->drops_space_prefix = true;
  add(Kind::kCleanText);
  if (options.spaces_cjk) add(Kind::kSpaceCjk);
  if (options.strip_accents.value_or(options.lowercase)) {
    add(Kind::kNfd);
    add(Kind::kStripAccents);
  }
  if (options.lowercase) add(Kind::kLowercase);
  Result<SplitSteps> splits = BertSplits();
  if (!splits.ok()) return splits.status();
  spec->splits = *std::move(splits);
  return Status();
}

Result<TokenizerSpec> SpecFromVocabTxt(std::string_view text, const VocabTxtOptions& options,
                                       const std::string& source) {
  TokenizerSpec spec;
  spec.source = source;
  spec.continuing_prefix = "##";
  if (Status status = AddBertSteps(options, &spec); !status.ok()) return status;
  auto tokens = std::make_shared<StringArena>();
  TokenId unknown = -1, cls = -1, separator = -1;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto id = static_cast<TokenId>(spec.tokens.size());
    if (spec.tokens.size() == kMaxTokens || line.size() > kMaxTokenBytes) {
      return Status(StatusCode::kBadModel,
                    "line " + std::to_string(id + 1) + " is no token: too long, or one too many\n" + source);
    }
    const bool special = line == "[PAD]" || line == "[UNK]" || line == "[CLS]" || line == "[SEP]" || line == "[MASK]";
    if (line == "[UNK]") unknown = id;
    if (line == "[CLS]") cls = id;
    if (line == "[SEP]") separator = id;
    spec.tokens.push_back(tokens->Copy(line));
    spec.types.push_back(special ? TokenType::kControl : TokenType::kNormal);
  }
  if (unknown < 0 || cls < 0 || separator < 0) {
    return Status(StatusCode::kBadModel, "a token is missing\n" + source +
                                             ": expected lines [UNK], [CLS] and [SEP], found " +
                                             std::to_string(spec.tokens.size()) + " lines without all of them");
  }
  spec.unknown = unknown;
  spec.bos = cls;
  spec.prefix = {cls};
  spec.suffix = {separator};
  spec.storage = std::move(tokens);
  return spec;
}

}  // namespace prenorm
