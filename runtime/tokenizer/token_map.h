// Flat hash maps of the tokenizer: token text -> id, and pair of ids -> merge. No allocation per entry.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "prenorm/tokenizer.h"

namespace prenorm {

/// Mixes all bits of x into all bits of the result (the finalizer of MurmurHash3). One multiplication is not
/// enough: the two halves of a word are often equal (see HashBytes) and cancelled each other, so that slots
/// filled in long runs.
inline uint64_t MixBits(uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDu;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53u;
  x ^= x >> 33;
  return x;
}

/// Hash of a short string, eight bytes at a time.
inline uint64_t HashBytes(std::string_view text) {
  uint64_t hash = text.size() * 0xD6E8FEB86659FD93u;
  const char* p = text.data();
  size_t left = text.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    hash = MixBits(hash ^ word) * 0xD6E8FEB86659FD93u;
    p += 8;
    left -= 8;
  }
  uint64_t word = 0;
  if (left >= 4) {  // Two overlapping reads cover 4 to 7 bytes.
    uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + left - 4, 4);
    word = low | static_cast<uint64_t>(high) << 32;
  } else if (left > 0) {
    word = static_cast<unsigned char>(p[0]) | static_cast<uint64_t>(static_cast<unsigned char>(p[left / 2])) << 8 |
           static_cast<uint64_t>(static_cast<unsigned char>(p[left - 1])) << 16;
  }
  return MixBits(hash ^ word);
}

/// Token text -> id over views that the caller keeps alive. A text that occurs twice keeps its first id.
class TokenMap {
 public:
  void Build(const std::vector<std::string_view>& tokens) {
    tokens_ = &tokens;
    const size_t slots = std::bit_ceil(tokens.size() * 2 + 16);
    slots_.assign(slots, Slot{0, -1});
    mask_ = slots - 1;
    max_bytes_ = 0;
    constexpr size_t kBlock = 32;  // Slots are far apart: those of a block are waited for together.
    std::array<uint64_t, kBlock> hashes;
    for (size_t begin = 0; begin < tokens.size(); begin += kBlock) {
      const size_t n = std::min(kBlock, tokens.size() - begin);
      for (size_t i = 0; i < n; ++i) {
        const std::string_view text = tokens[begin + i];
        max_bytes_ = std::max(max_bytes_, text.size());
        hashes[i] = HashBytes(text);
        __builtin_prefetch(&slots_[hashes[i] & mask_], 1);
      }
      for (size_t i = 0; i < n; ++i) {
        Slot* slot = FindSlot(tokens[begin + i], hashes[i]);
        if (slot->id < 0) *slot = Slot{static_cast<uint32_t>(hashes[i] >> 32), static_cast<TokenId>(begin + i)};
      }
    }
  }

  /// -1 if there is none.
  TokenId Find(std::string_view text) const {
    if (text.size() > max_bytes_ || slots_.empty()) return -1;
    return FindHashed(text, HashBytes(text));
  }

  /// Find with the hash of `text`. A look-up waits for memory three times (slot, view, text); callers with many texts
  /// start the waits together by calling PrefetchSlot for all of them, then PrefetchView, then PrefetchText.
  TokenId FindHashed(std::string_view text, uint64_t hash) const {
    return const_cast<TokenMap*>(this)->FindSlot(text, hash)->id;
  }
  void PrefetchSlot(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  void PrefetchView(uint64_t hash) const {
    if (const TokenId id = slots_[hash & mask_].id; id >= 0) __builtin_prefetch(&(*tokens_)[static_cast<size_t>(id)]);
  }
  void PrefetchText(uint64_t hash) const {
    if (const TokenId id = slots_[hash & mask_].id; id >= 0) {
      __builtin_prefetch((*tokens_)[static_cast<size_t>(id)].data());
    }
  }

  size_t max_bytes() const { return max_bytes_; }

 private:
  struct Slot {
    uint32_t tag;
    TokenId id;
  };

  Slot* FindSlot(std::string_view text, uint64_t hash) {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Slot* slot = &slots_[i];
      if (slot->id < 0 || (slot->tag == tag && (*tokens_)[static_cast<size_t>(slot->id)] == text)) return slot;
    }
  }

  const std::vector<std::string_view>* tokens_ = nullptr;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t max_bytes_ = 0;
};

/// What two neighbouring symbols become. `order`: lower merges first; kNoMerge: never.
struct MergeResult {
  static constexpr uint32_t kNoMerge = UINT32_MAX;
  uint32_t order = kNoMerge;
  TokenId id = -1;
};

/// (left id, right id) -> merge. A pair that occurs twice keeps its first rank.
class PairMap {
 public:
  void Reserve(size_t pairs) {
    const size_t slots = std::bit_ceil(pairs * 2 + 16);
    slots_.assign(slots, Slot{kEmpty, {}});
    mask_ = slots - 1;
  }

  /// At most as many as were reserved.
  void Insert(TokenId left, TokenId right, MergeResult merge) {
    Slot* slot = FindSlot(Key(left, right));
    if (slot->key == kEmpty) *slot = Slot{Key(left, right), merge};
  }

  MergeResult Find(TokenId left, TokenId right) const {
    return const_cast<PairMap*>(this)->FindSlot(Key(left, right))->merge;
  }

 private:
  struct Slot {
    uint64_t key;
    MergeResult merge;
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;

  static uint64_t Key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  Slot* FindSlot(uint64_t key) {
    for (size_t i = MixBits(key) & mask_;; i = (i + 1) & mask_) {
      Slot* slot = &slots_[i];
      if (slot->key == key || slot->key == kEmpty) return slot;
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace prenorm
