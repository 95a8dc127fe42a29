// Remembers, within one call of Encode, the ids of short pieces: words recur, and a look-up is cheaper than merging.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/token_map.h"

namespace prenorm {

/// Direct-mapped; entries refer to the ids that the call has already put out. Longer pieces are not kept.
class PieceCache {
 public:
  static constexpr size_t kMaxBytes = 16;

  /// For a text of so many bytes.
  explicit PieceCache(size_t text_bytes)
      : slots_(std::bit_ceil(std::clamp(text_bytes / 16, kMinSlots, kMaxSlots))), mask_(slots_.size() - 1) {}

  /// Appends the ids of a piece seen before, or returns false.
  bool Append(std::string_view piece, std::vector<TokenId>* out) {
    key_ = KeyOf(piece);
    const Slot& slot = slots_[key_.slot];
    if (slot.low != key_.low || slot.high != key_.high || slot.bytes != piece.size()) return false;
    for (uint32_t i = 0; i < slot.count; ++i) out->push_back((*out)[slot.begin + i]);
    return true;
  }

  /// Keeps the piece of the last Append; its ids are `out` from `begin` on.
  void Keep(std::string_view piece, size_t begin, const std::vector<TokenId>& out) {
    slots_[key_.slot] = Slot{key_.low, key_.high, static_cast<uint32_t>(begin),
                             static_cast<uint16_t>(out.size() - begin), static_cast<uint16_t>(piece.size())};
  }

 private:
  static constexpr size_t kMinSlots = 1024;
  static constexpr size_t kMaxSlots = 16384;  // 384 KiB, fits the second-level cache
  struct Slot {
    uint64_t low = 0, high = 0;  // the bytes of the piece, zero-padded
    uint32_t begin = 0;
    uint16_t count = 0;
    uint16_t bytes = 0;  // 0: empty
  };
  struct Key {
    uint64_t low = 0, high = 0;
    size_t slot = 0;
  };

  Key KeyOf(std::string_view piece) const {
    Key key;
    uint64_t words[2] = {0, 0};
    std::memcpy(words, piece.data(), piece.size());
    key.low = words[0];
    key.high = words[1];
    key.slot = MixBits(words[0] ^ MixBits(words[1] ^ piece.size())) >> 20 & mask_;
    return key;
  }

  std::vector<Slot> slots_;
  size_t mask_;
  Key key_;
};

}  // namespace prenorm
