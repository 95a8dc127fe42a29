// Finds stop strings in text that arrives in pieces, and holds back what might become one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

/// Matches every byte once, however the text was cut into pieces (Knuth, Morris, Pratt 1977): the same text gives the
/// same end whatever the tokens were. The stop string that is complete first ends the text, the longest one of several.
class StopMatcher {
 public:
  /// Errors: kInvalidArgument for an empty string or one that begins inside a UTF-8 character.
  static Result<StopMatcher> Create(std::vector<std::string> stop_strings);

  /// Takes the next piece and returns the text that is now certain not to belong to a stop string.
  /// After a match: what stands before it; everything later is swallowed.
  std::string Push(std::string_view piece);

  /// What was held back, at the end of the text; empty after a match.
  std::string Flush();

  bool matched() const { return matched_; }

 private:
  struct Pattern {
    std::string text;
    std::vector<size_t> border;  // [text.size()]: longest proper prefix of text[0..i] that is also its suffix.
    size_t length = 0;           // Bytes of `text` that the input now ends with.
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace prenorm
