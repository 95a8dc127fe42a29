// Attention of the query heads that share one key/value head over its cache, and the layout of that cache.
//
// A row of queries is one query head at one position. Its result is computed in one order that depends on its own range
// of positions alone, so its bits are the same whether it stands alone or in a tile, in prefill or in decode, in one
// call or split by chunks over threads.
#pragma once

#include <cstddef>

#include "prenorm/types.h"

namespace prenorm {

/// Positions of one chunk: chunk c holds positions [c * 256, (c + 1) * 256).
inline constexpr size_t kAttentionChunk = 256;

/// Positions of one key block. Keys are stored block by block, each block transposed, [head_dim, 32]: element (p, d) is
/// at KeyIndex(p, d, head_dim), so that 32 scores are computed side by side and without horizontal sums. In a 16-bit
/// cache the 32 positions of one d are one cache line.
inline constexpr size_t kKeyBlock = 32;

/// Place of element `d` of the key of `position`, in elements.
constexpr size_t KeyIndex(size_t position, size_t d, size_t head_dim) {
  return (position / kKeyBlock * head_dim + d) * kKeyBlock + position % kKeyBlock;
}

/// Place of element `d` of the key of `position` in a Q8_0 cache, in bytes: in a key block each run of 32 elements has
/// the f16 scales of its 32 positions first, then its codes, [32, 32]. Values are blocks of Q8_0 as in files.
constexpr size_t Int8KeyIndex(size_t position, size_t d, size_t head_dim) {
  const size_t run = position / kKeyBlock * (head_dim / 32) + d / 32;
  return run * (34 * kKeyBlock) + (2 + d % 32) * kKeyBlock + position % kKeyBlock;
}

/// `positions` rounded up to whole key blocks: what the key array of one head must have room for. All of it must be
/// readable; what lies beyond the stored positions never influences a result. (Values need no rounding.)
constexpr size_t KeyCapacity(size_t positions) { return (positions + kKeyBlock - 1) / kKeyBlock * kKeyBlock; }

/// The cache of one key/value head.
struct KvHead {
  DType type;       ///< kF32, kF16, kBF16, or kQ8_0 with head_dim % 32 == 0.
  size_t head_dim;  ///< Elements of one key and of one value.
  void* keys;       ///< [KeyCapacity(max_seq_len) / 32, head_dim, 32]; see KeyIndex and Int8KeyIndex.
  void* values;     ///< [max_seq_len, head_dim].
};

/// True for the element types that a cache may have.
constexpr bool IsKvType(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || type == DType::kQ8_0;
}

/// Stores the keys and values of positions [position, position + count), rounded to nearest even, kQ8_0 as QuantizeRow
/// does; there a run of 32 elements with a NaN or Inf in it becomes NaN.
///
/// Shapes    keys, values: [count, head_dim], row i at i * stride elements.
/// Threads   reentrant; calls for different positions of one head may run at the same time.
void StoreKv(const KvHead& cache, size_t position, size_t count, const float* keys, const float* values, size_t stride);

/// What all rows of a call share.
struct AttentionArgs {
  KvHead cache;           ///< Positions below the largest visible_end have been stored.
  float scale;            ///< Factor of the dot products, usually 1 / sqrt(head_dim).
  float soft_cap = 0.0f;  ///< Scores become soft_cap * tanh(score / soft_cap); 0 means none.
  size_t window = 0;      ///< A row sees its last `window` positions only, itself included; 0 means all.
};

/// Bytes of scratch memory for a call with `n_rows` rows on a cache of this type.
size_t AttentionScratchBytes(size_t n_rows, size_t head_dim, DType cache_type);

/// out[r] = sum over p of softmax(scale * q[r] . key[p])[p] * value[p], p in [first, visible_end[r]), where first is
/// visible_end[r] - window, or 0.
///
/// Shapes    q, out: [n_rows, head_dim], row r at r * q_stride, r * out_stride elements; visible_end: [n_rows], in any
///           order, though neighbouring rows should have near ends; scratch: AttentionScratchBytes, any alignment.
///           A row that sees nothing gives zeros. `out` must not overlap the other arrays.
/// Accuracy  f32 throughout: scores sum head_dim products in order, the maximum is subtracted, chunks of 256 positions
///           are merged in ascending order by a streaming softmax; tolerances as in tests/kernels/attention_test.cc.
///           Scores of any finite size are fine; a NaN in what a row sees makes that row NaN, and positions it does not
///           see never reach it.
/// Bits      do not depend on the other rows or on the split; the same on every target with fused multiply-add.
/// Threads   reentrant; does not allocate, print or throw.
/// Source    Vaswani et al. 2017, eq. 1; Milakov and Gimelshein 2018 for the streaming softmax.
void Attention(const AttentionArgs& args, const float* q, size_t q_stride, const size_t* visible_end, size_t n_rows,
               float* out, size_t out_stride, void* scratch);

/// Floats of one row's partial result of one chunk: head_dim weighted sums, the maximum and the sum of the weights.
constexpr size_t AttentionPartialFloats(size_t head_dim) { return head_dim + 2; }

/// The share of one chunk, for splitting the positions of few rows over threads: AttentionMerge of the partial results
/// of all chunks has the bits of Attention.
///
/// Shapes    partials: [n_rows, AttentionPartialFloats(head_dim)]; the other arguments as for Attention.
void AttentionChunk(const AttentionArgs& args, const float* q, size_t q_stride, const size_t* visible_end,
                    size_t n_rows, size_t chunk, float* partials, void* scratch);

/// Merges partial results in ascending order of chunks. Chunks that no row sees may be left out.
///
/// Shapes    partials: [n_chunks, n_rows, AttentionPartialFloats(head_dim)]; out as for Attention.
void AttentionMerge(const float* partials, size_t n_chunks, size_t n_rows, size_t head_dim, float* out,
                    size_t out_stride);

}  // namespace prenorm
