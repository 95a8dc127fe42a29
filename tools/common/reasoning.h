// Reasoning text in front of an answer, and where it ends.
#pragma once

#include <string>
#include <string_view>

namespace prenorm::tools {

struct ReasoningMarkers {
  std::string open;
  std::string close;
};

/// The markers that a chat template speaks of; <think> and </think> where it has none.
ReasoningMarkers FindReasoningMarkers(std::string_view chat_template);

/// Splits a streamed answer. Reasoning is what stands between the markers at its beginning, or up to the closing marker
/// where the prompt has opened it; a marker later in the text is text.
class ReasoningSplitter {
 public:
  /// `prompt`: as rendered; the answer follows it.
  ReasoningSplitter(ReasoningMarkers markers, std::string_view prompt);

  struct Pieces {
    std::string reasoning;
    std::string answer;
  };
  /// What is certain after `text`; a part of a marker is held back.
  Pieces Push(std::string_view text);
  /// What was held back.
  Pieces Flush();

 private:
  enum class State { kBegin, kReasoning, kGap, kAnswer };
  ReasoningMarkers markers_;
  State state_ = State::kBegin;
  std::string pending_;
};

}  // namespace prenorm::tools
