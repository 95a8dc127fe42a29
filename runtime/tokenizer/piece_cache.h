// Remembers, within one call of Encode, the ids of short pieces: words recur, and a look-up is cheaper than merging.
#pragma once

#include <array>
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

  PieceCache() : slots_(kSlots) {}

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
  static constexpr size_t kSlots = 4096;  // 96 KiB, fits the second-level cache
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

  static Key KeyOf(std::string_view piece) {
    Key key;
    uint64_t words[2] = {0, 0};
    std::memcpy(words, piece.data(), piece.size());
    key.low = words[0];
    key.high = words[1];
    key.slot = MixBits(words[0] ^ MixBits(words[1] ^ piece.size())) >> 20 & (kSlots - 1);
    return key;
  }

  std::vector<Slot> slots_;
  Key key_;
};

}  // namespace prenorm
