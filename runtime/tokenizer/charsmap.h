// SentencePiece's precompiled character map: a double-array trie of character sequences and their replacements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

/// Immutable. Source: sentencepiece, normalizer.cc (layout: u32 bytes of the trie, the trie's little-endian u32 units,
/// NUL-terminated replacements), and darts-clone for the units.
class Charsmap {
 public:
  /// Copies `blob`. kBadModel if its sizes do not fit together.
  static Result<std::shared_ptr<const Charsmap>> Parse(std::string_view blob);

  /// The longest sequence at each position is replaced; other characters stay. Valid UTF-8 in and out. It stops when
  /// there are more than `most` bytes, and what is then returned is of no use.
  std::string Apply(std::string_view text, size_t most) const;

 private:
  /// Bytes of `text` that have a replacement (0: none), and the replacement.
  size_t Longest(std::string_view text, std::string_view* replacement) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace prenorm
