// Changes to text before it is cut into pieces: Unicode normalization, replacements, prefixes.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/limits.h"
#include "runtime/tokenizer/charsmap.h"
#include "runtime/tokenizer/regex.h"

namespace prenorm {

struct NormalizerStep {
  enum class Kind {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,    ///< Drops non-spacing marks (Mn), as BERT does.
    kStripMarks,      ///< Drops all marks (M).
    kCleanText,       ///< BERT: drops controls, white space becomes a space.
    kNmt,             ///< Drops controls; tabs, line ends, separators and marks of no width become spaces.
    kSpaceCjk,        ///< BERT: a space on each side of a CJK ideograph.
    kStrip,           ///< White space at the ends, by `left` and `right`.
    kCollapseSpaces,  ///< Runs of spaces become one; none stays at the ends.
    kPrepend,         ///< `text` before a text that is not empty.
    kReplace,         ///< Every `pattern` becomes `text`.
    kReplaceRegex,    ///< Every match of `regex` becomes `text`.
    kCharsmap,        ///< SentencePiece's precompiled table.
  };
  Kind kind;
  std::string pattern;
  std::string text;
  Regex regex;
  std::shared_ptr<const Charsmap> charsmap;
  bool left = false;
  bool right = false;
};
using NormalizerSteps = std::vector<NormalizerStep>;

/// Bytes that a step of the tokenizer may make of a text of `bytes`, and the refusal of more.
inline size_t MostGrownBytes(size_t bytes) { return std::min(kMaxTextBytes, kMaxTextGrowth * bytes + kMaxGrownBytes); }
Status GrowsTooMuch(size_t bytes);

/// Applies the steps in order; `text` is valid UTF-8 and stays so. kUnsupported or kOutOfMemory from a regex;
/// kUnsupported where a step makes more than MostGrownBytes of the text.
Status Normalize(const NormalizerSteps& steps, std::string* text);

}  // namespace prenorm
