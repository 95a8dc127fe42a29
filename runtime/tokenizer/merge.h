// Byte-pair merging: the pair with the lowest order merges first, the leftmost of equals, until none is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizer/token_map.h"

namespace prenorm {

/// A run of text that is one symbol so far.
struct Symbol {
  TokenId id = -1;     ///< -1: no token.
  uint32_t begin = 0;  ///< In the piece.
  uint32_t size = 0;   ///< Bytes, > 0.
};

struct MergeScratch {
  std::vector<Symbol> symbols;  ///< In: one per byte or character; out: the merged ones.
  std::string text;
  std::vector<MergeResult> pairs;
  struct Candidate {
    uint64_t order;  ///< Order of the merge, then position of the left symbol.
    uint32_t size;   ///< Bytes of both: tells whether the pair is still the one that was queued.
    TokenId id;
    bool operator>(const Candidate& other) const { return order > other.order; }
  };
  std::vector<Candidate> heap;
  struct Link {
    uint32_t previous;
    uint32_t next;
  };
  std::vector<Link> links;
  std::vector<double> sums;           ///< Unigram: the best sum up to each byte,
  std::vector<MergeResult> arrivals;  ///< and the token that ends there (order: where it begins).
};

/// For pieces of few symbols: look for the least pair, merge, repeat. Quadratic, but without heap and links.
template <typename Lookup>
void MergeFew(MergeScratch* scratch, const Lookup& lookup) {
  std::vector<Symbol>& symbols = scratch->symbols;
  std::vector<MergeResult>& pairs = scratch->pairs;
  size_t n = symbols.size();
  pairs.resize(n);
  for (size_t i = 0; i + 1 < n; ++i) pairs[i] = lookup(symbols[i], symbols[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (pairs[i].order < pairs[best].order) best = i;
    }
    if (pairs[best].order == MergeResult::kNoMerge) break;
    symbols[best].id = pairs[best].id;
    symbols[best].size += symbols[best + 1].size;
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2, symbols.begin() + static_cast<std::ptrdiff_t>(n),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(pairs.begin() + static_cast<std::ptrdiff_t>(best) + 2, pairs.begin() + static_cast<std::ptrdiff_t>(n),
              pairs.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    if (best + 1 < n) pairs[best] = lookup(symbols[best], symbols[best + 1]);
    if (best > 0) pairs[best - 1] = lookup(symbols[best - 1], symbols[best]);
  }
  symbols.resize(n);
}

/// For long pieces: a heap of candidates over a linked list, O(n log n).
template <typename Lookup>
void MergeMany(MergeScratch* scratch, const Lookup& lookup) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Symbol>& symbols = scratch->symbols;
  auto& heap = scratch->heap;
  auto& links = scratch->links;
  const auto n = static_cast<uint32_t>(symbols.size());
  heap.clear();
  links.resize(n);
  for (uint32_t i = 0; i < n; ++i) links[i] = {i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1};

  const auto candidate = [&](uint32_t left, uint32_t right, const MergeResult& merge) {
    return MergeScratch::Candidate{static_cast<uint64_t>(merge.order) << 32 | left,
                                   symbols[left].size + symbols[right].size, merge.id};
  };
  const auto queue = [&](uint32_t left, uint32_t right) {
    if (left == kNone || right == kNone) return;
    const MergeResult merge = lookup(symbols[left], symbols[right]);
    if (merge.order == MergeResult::kNoMerge) return;
    heap.push_back(candidate(left, right, merge));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (uint32_t i = 0; i + 1 < n; ++i) {
    const MergeResult merge = lookup(symbols[i], symbols[i + 1]);
    if (merge.order != MergeResult::kNoMerge) heap.push_back(candidate(i, i + 1, merge));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const MergeScratch::Candidate next = heap.back();
    heap.pop_back();
    const auto left = static_cast<uint32_t>(next.order);
    const uint32_t right = links[left].next;
    // A symbol that was merged away has size 0; one that grew makes the pair longer than it was.
    if (right == kNone || symbols[left].size == 0 || symbols[left].size + symbols[right].size != next.size) continue;
    symbols[left].id = next.id;
    symbols[left].size = next.size;
    symbols[right].size = 0;
    links[left].next = links[right].next;
    if (links[right].next != kNone) links[links[right].next].previous = left;
    queue(links[left].previous, left);
    queue(left, links[left].next);
  }
  symbols.erase(std::remove_if(symbols.begin(), symbols.end(), [](const Symbol& s) { return s.size == 0; }),
                symbols.end());
}

/// Merges scratch->symbols. `lookup(left, right)` gives the MergeResult of two neighbours.
template <typename Lookup>
void MergeSymbols(MergeScratch* scratch, const Lookup& lookup) {
  constexpr size_t kFew = 40;  // Words are shorter; at 40 both ways take the same time.
  if (scratch->symbols.size() <= kFew)
    MergeFew(scratch, lookup);
  else
    MergeMany(scratch, lookup);
}

}  // namespace prenorm
