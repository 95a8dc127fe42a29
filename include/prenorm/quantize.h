// From f32 to stored weights.
#pragma once

#include <cstddef>

#include "prenorm/types.h"

namespace prenorm {

/// True for the types that QuantizeRow writes: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q6_K.
bool CanQuantize(DType type);

/// Encodes one row.
///
/// Shapes    x: [cols]; blocks: RowBytes(type, cols) bytes, any alignment; they must not overlap.
/// Requires  CanQuantize(type); cols is a multiple of its block length; x is finite (other values give some codes).
/// Accuracy  F16, BF16: to nearest, ties to even. Q8_0, Q4_0, Q4_1, Q5_0, Q5_1: bit for bit as the `gguf` Python
/// package
///           (gguf.quants.quantize). Q4_K, Q6_K: for each sub-block the scale (and minimum) of least squared error
///           among a few candidates, then once more for the scales as they are stored; same bits everywhere.
/// Threads   reentrant; does not allocate, print or throw.
/// Source    block layouts of the GGUF specification and ggml; the search is our own.
void QuantizeRow(DType type, const float* x, size_t cols, void* blocks);

}  // namespace prenorm
