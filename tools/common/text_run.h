// One run from prompt ids to an answer on stdout: what `generate` and `chat` share.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "prenorm/generate.h"
#include "tools/common/answer.h"
#include "tools/common/op_totals.h"
#include "tools/common/open_model.h"
#include "tools/common/options.h"

namespace prenorm::tools {

/// Sampler, length and stops from the options; draws a seed where none is given.
/// Errors: kInvalidArgument for a --logit-bias that cannot be read.
Result<GenerateOptions> MakeGenerateOptions(const Options& options);

/// Streams answers of one session in the form that the options ask for: plain text, --json or --jsonl.
class TextRun {
 public:
  TextRun(const OpenedModel& opened, Session& session, const Options& options);

  /// Generates after `prompt`, the last part of `whole_prompt` (the rest is in the session already).
  /// Errors: those of Generate, and kIo when the answer cannot be written.
  Result<GenerateResult> Run(std::span<const TokenId> prompt, std::span<const TokenId> whole_prompt, GenerateOptions options);

  /// Whether the reader of standard output has gone.
  bool reader_gone() const { return answer_.closed(); }

 private:
  bool HandOut(std::string_view text, TokenId id);
  void Report(const GenerateResult& result, std::span<const TokenId> whole_prompt, uint64_t seed);

  const OpenedModel& opened_;
  Session& session_;
  const Options& options_;
  Answer answer_;
  OpTotals totals_;
};

}  // namespace prenorm::tools
