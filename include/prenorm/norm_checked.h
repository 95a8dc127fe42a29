// norm.h with every argument checked first: for callers whose sizes come from outside.
//
// Each function does what its namesake in norm.h does, or nothing at all: kInvalidArgument, with the operator, the
// operand and the numbers in the message, for zero columns, a null operand, a stride below cols, a size that overflows,
// an overlap that norm.h does not allow, a negative or NaN eps. Zero rows is valid and touches nothing.
#pragma once

#include <cstddef>

#include "prenorm/norm.h"
#include "prenorm/status.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
Status CheckedRmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows,
                      size_t cols, const RmsNormOptions& options);

template <typename X, typename Affine, typename Out>
Status CheckedLayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out,
                        size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options);

template <typename X, typename Gain, typename Out>
Status CheckedResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                              const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
                              const Residual& residual, const RmsNormOptions& options);

template <typename X, typename Affine, typename Out>
Status CheckedResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                                const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows,
                                size_t cols, const Residual& residual, const LayerNormOptions& options);

template <typename X>
Status CheckedInvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                     const RmsNormOptions& options);

Status CheckedSoftmax(float* x, size_t stride, size_t rows, size_t cols);

Status CheckedLogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols);

}  // namespace prenorm
