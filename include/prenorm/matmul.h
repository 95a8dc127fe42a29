// Products of a weight matrix with rows of activations: y = W x for one token (decode) or many (prefill).
#pragma once

#include <cstddef>

#include "prenorm/types.h"

namespace prenorm {

/// A weight matrix [rows, cols] in one of the storage types of `DType`, row-major blocks as in GGUF files, or the same
/// bytes permuted by InterleaveRows. A view: owns nothing.
struct WeightMatrix {
  DType type;
  size_t rows;
  size_t cols;       ///< A multiple of the block length of `type`.
  const void* data;  ///< rows * RowBytes(type, cols) bytes; any alignment for quantized types.
  bool interleaved;  ///< InterleaveRows has run over all groups, on the target that is active now. No meaning for plain
                     ///< types.
};

/// Rows of one interleave group on the active target: 16 with 512-bit vectors, 8 with 256, 4 with 128.
size_t RowGroup();

/// True for the types that InterleaveRows permutes. Others (F32, F16, BF16 and rare formats) are used
/// row-major as they are.
bool CanInterleave(DType type);

/// Permutes the bytes of each group of RowGroup() rows in place, so that one vector load serves all rows of the group.
///
/// Memory    data: the first byte of row 0; groups [group_begin, group_end) of RowGroup() rows each must lie within the
///           matrix: rows past the last whole group stay as they are. scratch: RowGroup() * RowBytes(type, cols) bytes.
/// Types     does nothing unless CanInterleave(type). Not its own inverse: run it once per group.
/// Threads   disjoint ranges of groups may run at once, each with its own scratch.
void InterleaveRows(DType type, size_t cols, void* data, size_t group_begin, size_t group_end, void* scratch);

/// Form in which a product wants its activations.
enum class ActivationFormat {
  kF32,   ///< Row-major f32.
  kInt8,  ///< int8 codes with one f32 scale per kActivationBlock elements.
};

/// Elements that share one scale in ActivationFormat::kInt8. Simulated mean KL on SmolLM2 (exact weights): 0.0030 with
/// 32, 0.0017 with 16, 0.00086 with 8.
inline constexpr size_t kActivationBlock = 16;

ActivationFormat ActivationFormatOf(DType weight_type);

/// Bytes of `n` packed rows of activations. kInt8 needs cols % 32 == 0. Alignment of 64 is best, 4 is required.
size_t ActivationBytes(ActivationFormat format, size_t cols, size_t n);

/// Rows per tile of the pack: threads that share a pack split at multiples of it.
size_t PackTile();

/// Packs rows [begin, end) of the `n` rows of x once for every matrix of this width (for kInt8: whatever
/// its quantized type).
///
/// Shapes    x: [n, cols], row t at t * x_stride elements; pack: ActivationBytes(format, cols, n) bytes,
///           other rows untouched.
/// Requires  begin a multiple of PackTile(); end too, or end == n.
/// Accuracy  kInt8: code = x * (127 / max|x| of the block) to nearest even; equal bits on every target. A block with
///           max|x| < 1e-30 counts as zeros; NaN or Inf in a block makes its products NaN or Inf.
/// Threads   disjoint ranges may run at once.
void PackActivations(ActivationFormat format, const float* x, size_t x_stride, size_t cols, size_t begin, size_t end,
                     size_t n, void* pack);

/// out[t][r] = (accumulate ? out[t][r] : 0) + sum over c of w[r][c] * x[t][c], for t in [0, n), r in
/// [row_begin, row_end).
///
/// Shapes    pack: made for (w.cols, n) in ActivationFormatOf(w.type); out: row t at t * out_stride
///           elements, indexed by r.
/// Accuracy  quantized: integer dots per block are exact, then one f32 multiply-add per block in ascending order of c.
///           The bits of an element depend on its row of w and of x alone: not on n, the row range, tiles or
///           interleaving, and are equal on all targets that have FMA. F32, F16, BF16: 16 partial sums by c mod 16,
///           then a fixed tree.
/// Threads   disjoint row ranges may run at once. Does not allocate, print or throw.
void MatMul(const WeightMatrix& w, size_t row_begin, size_t row_end, const void* pack, size_t n, float* out,
            size_t out_stride, bool accumulate);

/// out[c] = w[row][c] as f32, interleaved or not, with the bits of DequantizeRow. out: [cols].
void DequantizeWeightRow(const WeightMatrix& w, size_t row, float* out);

}  // namespace prenorm
