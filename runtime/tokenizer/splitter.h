// Cutting text into pieces before the model sees it: a list of steps, each applied to every piece of the one before.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/tokenizer/regex.h"

namespace prenorm {

/// What becomes of the matches of a step. Names as in Hugging Face tokenizers.
enum class SplitBehavior {
  kIsolated,            ///< Each match and each gap is a piece.
  kRemoved,             ///< Matches are dropped.
  kMergedWithPrevious,  ///< A match ends the piece before it.
  kMergedWithNext,      ///< A match begins the piece after it.
  kContiguous,          ///< Neighbouring matches are one piece.
};

enum class SpacePrefix { kNever, kFirst, kAlways };

struct SplitStep {
  enum class Kind {
    kRegex,         ///< `regex` with `behavior`; `invert` exchanges matches and gaps.
    kMetaspace,     ///< Spaces become `mark`, one is put before the text by `prefix`; cut before each if `split`.
    kLeadingSpace,  ///< Every piece that does not begin with white space gets a space in front.
  };
  Kind kind = Kind::kRegex;
  Regex regex;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
  SpacePrefix prefix = SpacePrefix::kNever;
  std::string mark;
  bool split = true;
};
using SplitSteps = std::vector<SplitStep>;

/// Pieces of one stretch of text, with the memory of one thread.
class Splitter {
 public:
  /// `at_start`: the stretch begins the whole text. Pieces are valid until the next call and as long as `text`.
  Status Split(const SplitSteps& steps, std::string_view text, bool at_start);
  const std::vector<std::string_view>& pieces() const { return pieces_; }

 private:
  Status SplitByRegex(const SplitStep& step, std::string_view piece);
  /// False: the pieces that the step changed have more than `most` bytes.
  bool SplitByMetaspace(const SplitStep& step, std::string_view piece, bool at_start, size_t most);

  RegexScratch scratch_;
  std::vector<std::string_view> pieces_;
  std::vector<std::string_view> next_;
  size_t changed_bytes_ = 0;         // Of the step.
  std::deque<std::string> changed_;  // texts of pieces that a step changed; a deque keeps their addresses
};

}  // namespace prenorm
