// From stored weights of any type to f32.
#pragma once

#include <cstddef>

#include "prenorm/types.h"

namespace prenorm {

/// out[c] = the value of element c of one row.
///
/// Shapes    blocks: RowBytes(type, cols) bytes; out: [cols].
/// Types     every DType of types.h to f32.
/// Memory    blocks of any alignment; out must not overlap blocks.
/// Requires  cols is a multiple of the block length of `type`, which InfoOf knows. cols == 0 does nothing.
/// Accuracy  bit for bit what the `gguf` Python package (gguf.quants.dequantize) gives, but for the payload of NaN.
/// Threads   reentrant; does not allocate, print or throw.
/// Source    block layouts of the GGUF specification and ggml.
void DequantizeRow(DType type, const void* blocks, size_t cols, float* out);

/// out[i] = element begin + i of the row, for i in [0, end - begin). As DequantizeRow, but `begin` and `end` need not
/// lie at block borders; out: [end - begin].
void DequantizeRange(DType type, const void* blocks, size_t begin, size_t end, float* out);

}  // namespace prenorm
