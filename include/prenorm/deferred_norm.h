// RMSNorm in two halves: whoever writes a row leaves sums of squares of it, and whoever packs it for a product
// applies 1 / rms and the gain on the way, so that the normalized row is never written and no norm waits for a
// barrier of its own.
#pragma once

#include <cstddef>

#include "prenorm/matmul.h"

namespace prenorm {

/// Elements whose squares SumSquares adds together. A multiple of every RowGroup(): threads that split the rows of a
/// product at multiples of it have blocks of their own.
inline constexpr size_t kSquaresBlock = 16;

/// sums[b] = sum of x[i]^2 over i in [16 b, 16 b + 16), in f64: squares are exact and cannot overflow.
///
/// Shapes    x: [n]; sums: [ceil(n / 16)].
/// Bits      one order of additions on every target: a block's sum depends on its elements alone.
void SumSquares(const float* x, size_t n, double* sums);

/// 1 / sqrt(sum of all squares / cols + eps), rounded to f32 once. sums: of a whole row, as SumSquares gives them.
float InvRmsOfSquares(const double* sums, size_t cols, float eps);

/// PackActivations of factors[t] * gain[c] * x[t][c]: a norm whose factor is known when its input is packed, and whose
/// normalized row is never written.
///
/// Shapes    gain: [cols]; factors: [n], or null for ones with kInt8; the others as for PackActivations.
/// Accuracy  kInt8: codes are those of gain * x, and the factor goes into the scale; next to a norm before the pack
///           only ties may fall otherwise. A block counts as zeros when max|gain * x| < 1e-30. kF32: two roundings.
void PackNormalized(ActivationFormat format, const float* x, size_t x_stride, size_t cols, size_t begin, size_t end,
                    size_t n, const float* gain, const float* factors, void* pack);

}  // namespace prenorm
