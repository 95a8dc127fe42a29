// One run from prompt ids to an answer on stdout: what `generate` and `chat` share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "prenorm/generate.h"
#include "prenorm/op_totals.h"
#include "tools/common/answer.h"
#include "tools/common/open_model.h"
#include "tools/common/options.h"
#include "tools/common/progress_bar.h"
#include "tools/common/reasoning.h"

namespace prenorm::tools {

/// Sampler, length and stops from the options; draws a seed where none is given.
/// Errors: kInvalidArgument for a --logit-bias that cannot be read.
Result<GenerateOptions> MakeGenerateOptions(const Options& options);

/// Streams answers of one session in the form that the options ask for: plain text, --json or --jsonl.
class TextRun {
 public:
  TextRun(const OpenedModel& opened, Session& session, const Options& options);

  /// Generates after `prompt`. What the session holds of its beginning is not evaluated again.
  /// Errors: those of Generate, and kIo when the answer cannot be written.
  Result<GenerateResult> Run(std::span<const TokenId> prompt, GenerateOptions options);

  /// Splits the next answers: reasoning goes to stderr, dimmed, or nowhere, and in JSON it has a field of its own.
  void SplitReasoning(const ReasoningMarkers& markers, bool show) {
    markers_ = markers;
    show_reasoning_ = show;
  }
  /// The reasoning of the last answer; its `text` is then without it.
  const std::string& reasoning() const { return reasoning_; }

  /// Whether the reader of standard output has gone.
  bool reader_gone() const { return answer_.closed(); }

 private:
  void ShowReading(std::span<const TokenId> prompt);
  void EndReading();
  bool HandOut(std::string_view text, TokenId id);
  bool HandOutPieces(const ReasoningSplitter::Pieces& pieces, TokenId id);
  bool WriteEvent(std::string_view key, std::string_view text, TokenId id);
  nlohmann::ordered_json SpeculationJson(const GenerateResult& result, const Speculation& options) const;
  void Report(const GenerateResult& result, std::span<const TokenId> prompt, const GenerateOptions& options);

  const OpenedModel& opened_;
  Session& session_;
  const Options& options_;
  Answer answer_;
  OpTotals totals_;
  std::optional<ProgressBar> reading_;       // While the prompt is evaluated.
  std::optional<ReasoningMarkers> markers_;  // Nothing: all text is the answer.
  bool show_reasoning_ = false;
  std::optional<ReasoningSplitter> splitter_;  // Of the present answer.
  std::string reasoning_;
  std::string answer_text_;
};

}  // namespace prenorm::tools
