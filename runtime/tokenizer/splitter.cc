// The steps of Splitter.
#include "runtime/tokenizer/splitter.h"

#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

/// Collects alternating gaps and matches and joins them as the behavior says.
class PieceJoiner {
 public:
  PieceJoiner(std::string_view text, SplitBehavior behavior, std::vector<std::string_view>* out)
      : text_(text), behavior_(behavior), out_(out) {}

  void Add(size_t begin, size_t end, bool is_match) {
    switch (behavior_) {
      case SplitBehavior::kIsolated:
        Emit(begin, end);
        break;
      case SplitBehavior::kRemoved:
        if (!is_match) Emit(begin, end);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (is_match && begin > 0 && open_ && !last_was_match_)
          Extend(end);
        else
          Start(begin, end);
        break;
      case SplitBehavior::kMergedWithNext:
        if (!is_match && open_ && last_was_match_)
          Extend(end);
        else
          Start(begin, end);
        break;
      case SplitBehavior::kContiguous:
        if (open_ && is_match == last_was_match_)
          Extend(end);
        else
          Start(begin, end);
        break;
    }
    last_was_match_ = is_match;
  }

  void Finish() {
    if (open_) Emit(begin_, end_);
    open_ = false;
  }

 private:
  void Emit(size_t begin, size_t end) {
    if (begin < end) out_->push_back(text_.substr(begin, end - begin));
  }
  void Start(size_t begin, size_t end) {
    Finish();
    begin_ = begin;
    end_ = end;
    open_ = true;
  }
  void Extend(size_t end) { end_ = end; }

  std::string_view text_;
  SplitBehavior behavior_;
  std::vector<std::string_view>* out_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool open_ = false;
  bool last_was_match_ = false;
};

}  // namespace

Status Splitter::SplitByRegex(const SplitStep& step, std::string_view piece) {
  PieceJoiner joiner(piece, step.behavior, &next_);
  size_t gap = 0;
  size_t from = 0;
  while (from <= piece.size()) {
    Regex::Match match;
    if (Status status = step.regex.Find(piece, from, &scratch_, &match); !status.ok()) return status;
    if (!match.found) break;
    if (match.begin > gap) joiner.Add(gap, match.begin, step.invert);
    if (match.end > match.begin) joiner.Add(match.begin, match.end, !step.invert);
    gap = match.end;
    from = match.end;
    // An empty match is a cut without a piece; the search goes on behind the next character.
    if (match.end == match.begin) {
      if (from == piece.size()) break;
      from += Utf8Length(piece[from]);
    }
  }
  if (gap < piece.size()) joiner.Add(gap, piece.size(), step.invert);
  joiner.Finish();
  return Status();
}

bool Splitter::SplitByMetaspace(const SplitStep& step, std::string_view piece, bool at_start, size_t most) {
  std::string text;
  text.reserve(piece.size() * 2 + step.mark.size());
  for (const char c : piece) {
    if (changed_bytes_ + text.size() > most) return false;
    if (c == ' ')
      text += step.mark;
    else
      text += c;
  }
  const bool wanted = step.prefix == SpacePrefix::kAlways || (step.prefix == SpacePrefix::kFirst && at_start);
  if (wanted && !std::string_view(text).starts_with(step.mark)) text.insert(0, step.mark);
  changed_bytes_ += text.size();
  const std::string_view whole = changed_.emplace_back(std::move(text));
  if (!step.split) {
    next_.push_back(whole);
    return true;
  }
  for (size_t begin = 0; begin < whole.size();) {
    size_t end = whole.find(step.mark, begin + 1);
    if (end == std::string_view::npos) end = whole.size();
    next_.push_back(whole.substr(begin, end - begin));
    begin = end;
  }
  return true;
}

Status Splitter::Split(const SplitSteps& steps, std::string_view text, bool at_start) {
  pieces_.clear();
  changed_.clear();
  if (text.empty()) return Status();
  pieces_.push_back(text);
  for (const SplitStep& step : steps) {
    next_.clear();
    changed_bytes_ = 0;
    // Earlier steps may have removed what the text began with.
    const bool changed = !changed_.empty();
    const bool keeps_start = changed || pieces_.empty() || pieces_[0].data() == text.data();
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const std::string_view piece = pieces_[i];
      switch (step.kind) {
        case SplitStep::Kind::kRegex:
          if (Status status = SplitByRegex(step, piece); !status.ok()) return status;
          break;
        case SplitStep::Kind::kMetaspace:
          if (!SplitByMetaspace(step, piece, at_start && i == 0 && keeps_start, MostGrownBytes(text.size()))) {
            return GrowsTooMuch(text.size());
          }
          break;
        case SplitStep::Kind::kLeadingSpace:
          if (piece.starts_with(' '))
            next_.push_back(piece);
          else
            next_.push_back(changed_.emplace_back(" ").append(piece));
          break;
      }
    }
    pieces_.swap(next_);
  }
  return Status();
}

}  // namespace prenorm
