// A small automaton: before the answer, in the reasoning, in the white space behind it, in the answer.
#include "tools/common/reasoning.h"

#include <algorithm>
#include <utility>

namespace prenorm::tools {
namespace {

constexpr const char* kSpace = " \t\r\n";

std::string_view WithoutSpaceAtEnd(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// Bytes at the end of `text` that a marker could begin with.
size_t HeldBack(std::string_view text, std::string_view marker) {
  for (size_t n = std::min(text.size(), marker.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == marker.substr(0, n)) return n;
  }
  return 0;
}

}  // namespace

ReasoningMarkers FindReasoningMarkers(std::string_view chat_template) {
  static const ReasoningMarkers kKnown[] = {
      {"<think>", "</think>"},
      {"[THINK]", "[/THINK]"},
      {"<thinking>", "</thinking>"},
      {"<reasoning>", "</reasoning>"},
      {"<seed:think>", "</seed:think>"},
      {"<|START_THINKING|>", "<|END_THINKING|>"},
      {"<|begin_of_thought|>", "<|end_of_thought|>"},
  };
  for (const ReasoningMarkers& markers : kKnown) {
    if (chat_template.find(markers.close) != std::string_view::npos) return markers;
  }
  return kKnown[0];
}

ReasoningSplitter::ReasoningSplitter(ReasoningMarkers markers, std::string_view prompt) : markers_(std::move(markers)) {
  if (WithoutSpaceAtEnd(prompt).ends_with(markers_.open)) state_ = State::kReasoning;
}

ReasoningSplitter::Pieces ReasoningSplitter::Push(std::string_view text) {
  Pieces out;
  pending_ += text;
  if (state_ == State::kBegin) {
    const size_t begin = std::min(pending_.find_first_not_of(kSpace), pending_.size());
    const std::string_view rest = std::string_view(pending_).substr(begin);
    if (rest.starts_with(markers_.open)) {
      pending_.erase(0, begin + markers_.open.size());
      state_ = State::kReasoning;
    } else if (!std::string_view(markers_.open).starts_with(rest)) {
      state_ = State::kAnswer;
    }
  }
  if (state_ == State::kReasoning) {
    const size_t end = pending_.find(markers_.close);
    if (end != std::string::npos) {
      out.reasoning = pending_.substr(0, end);
      pending_.erase(0, end + markers_.close.size());
      state_ = State::kGap;
    } else {
      const size_t certain = pending_.size() - HeldBack(pending_, markers_.close);
      out.reasoning = pending_.substr(0, certain);
      pending_.erase(0, certain);
    }
  }
  if (state_ == State::kGap) {
    pending_.erase(0, std::min(pending_.find_first_not_of(kSpace), pending_.size()));
    if (!pending_.empty()) state_ = State::kAnswer;
  }
  if (state_ == State::kAnswer) out.answer = std::exchange(pending_, {});
  return out;
}

ReasoningSplitter::Pieces ReasoningSplitter::Flush() {
  Pieces out;
  (state_ == State::kReasoning ? out.reasoning : out.answer) = std::exchange(pending_, {});
  return out;
}

}  // namespace prenorm::tools
