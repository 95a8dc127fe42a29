// Products with scratch memory, which are faster for many rows of activations.
#pragma once

#include <cstddef>

#include "prenorm/matmul.h"

namespace prenorm {

/// Bytes of scratch memory for matrices of up to `cols` columns.
size_t MatMulScratchBytes(size_t cols);

/// MatMul with the same bits. Matrices that are multiplied in f32 are widened and transposed panel by panel, which
/// makes products with a dozen columns or more two to three times as fast.
///
/// Memory    scratch: MatMulScratchBytes(w.cols) bytes aligned to 4, of this call alone; null: MatMul without it.
void MatMul(const WeightMatrix& w, size_t row_begin, size_t row_end, const void* pack, size_t n, float* out,
            size_t out_stride, bool accumulate, void* scratch);

}  // namespace prenorm
