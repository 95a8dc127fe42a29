// Places between words that no token spans: there a text falls apart into words that are merged, and remembered, by
// themselves.
#pragma once

#include <bitset>
#include <string_view>

#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {

/// Merging models only: what merges is a token, so a place that no token spans is never merged over.
class WordCuts {
 public:
  /// No cuts at all.
  WordCuts() = default;

  /// Cuts before the space marks of a text, but not behind a byte that some token has before a mark (Gemma 3 has one
  /// such token, ">▁</"). None where a mark is no token, or where characters may vanish and let their neighbours meet.
  explicit WordCuts(const Vocabulary& vocabulary);

  /// Bytes of the first word of `text`, which is not empty.
  size_t FirstWord(std::string_view text) const;

 private:
  bool cuts_ = false;
  std::bitset<256> joins_;  // last bytes of what tokens have before a mark
};

}  // namespace prenorm
