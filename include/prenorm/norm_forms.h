// Norms that are compositions of RMSNorm, LayerNorm and BatchNorm, each after its paper.
//
// Three forms of each: over pointers without checks (debug builds assert), Checked... with every argument checked,
// Parallel... with the rows shared among an OpenMP team. All three give the same bits for every thread count.
// Conventions as in norm.h: rows with strides in elements, any alignment, reentrant, no allocation; statistics, range
// and bits are those of the norm that each one is made of. X: float or bf16. out == x is allowed, other overlap is not,
// unless stated. Already in norm.h: DeepNorm, SkipInit and LayerScale, as forms of the residual; the scaled weight
// standardization of weights is in norm_fold.h.
#pragma once

#include <cstddef>

#include "prenorm/norm.h"
#include "prenorm/norm_channels.h"
#include "prenorm/status.h"

namespace prenorm {

/// out = g * x / sqrt(sum over c of x^2 + eps), with one learned scalar g for all columns.
///
/// Source    Nguyen and Salazar 2019, "Transformers without Tears" (there a floor of the norm, not eps in the root).
template <typename X>
void ScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols, float eps);

/// out = x + (gain * x_hat(f) + bias), the norm that a Sandwich block puts between its branch f and the residual stream
/// (the one before the branch is a plain LayerNorm). gain and bias: [cols] or null. out == x or out == f is allowed.
///
/// Source    Ding et al. 2021, "CogView", on Sandwich-LN.
template <typename X>
void SandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain, const float* bias,
                  X* out, size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options);

/// out = scale * (1 - k * x_hat) * x_hat, LayerNorm without gain and bias. The paper has k = 0.1.
///
/// Source    Xu et al. 2019, "Understanding and Improving Layer Normalization", on AdaNorm (their C is `scale`).
template <typename X>
void AdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows, size_t cols,
             const LayerNormOptions& options);

/// out[r] = gain[r / rows_per_condition] * x_hat(x[r]) + bias[r / rows_per_condition], where a network makes gain and
/// bias from a condition: [conditions, cols], contiguous, each or both null. kOnePlusGain forms 1 + gain in f32 (DiT).
///
/// Requires  rows_per_condition > 0.
/// Source    Peebles and Xie 2023, "Scalable Diffusion Models with Transformers", section 3.2.
template <typename X>
void AdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias, size_t rows_per_condition,
                       GainForm gain_form, X* out, size_t out_stride, size_t rows, size_t cols,
                       const LayerNormOptions& options);

/// out = gain[c] * x / sqrt(running_quadratic_mean[c] + eps) + bias[c]: PowerNorm with its running statistics, which is
/// BatchNormEval without a mean.
///
/// Source    Shen et al. 2020, "PowerNorm", at inference.
template <typename X, typename Affine>
void PowerNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias,
                   const float* running_quadratic_mean, X* out, size_t out_stride, const ChannelShape& shape,
                   float eps) {
  BatchNormEval(x, x_stride, gain, bias, static_cast<const float*>(nullptr), running_quadratic_mean, out, out_stride,
                shape, eps);
}

// Checked: kInvalidArgument with the operator and the numbers in the message, and nothing touched, for zero columns, a
// null operand, a stride below cols, a size that overflows, an overlap that is not allowed above, a bad eps, zero
// rows_per_condition, a negative or NaN running statistic.

template <typename X>
Status CheckedScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,
                        float eps);

template <typename X>
Status CheckedSandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain,
                           const float* bias, X* out, size_t out_stride, size_t rows, size_t cols,
                           const LayerNormOptions& options);

template <typename X>
Status CheckedAdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows,
                      size_t cols, const LayerNormOptions& options);

template <typename X>
Status CheckedAdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias,
                                size_t rows_per_condition, GainForm gain_form, X* out, size_t out_stride, size_t rows,
                                size_t cols, const LayerNormOptions& options);

template <typename X, typename Affine>
Status CheckedPowerNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias,
                            const float* running_quadratic_mean, X* out, size_t out_stride, const ChannelShape& shape,
                            float eps);

// Parallel: at most `threads` threads (0: the default of OpenMP), fewer where there is little work.

template <typename X>
void ParallelScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,
                       float eps, size_t threads = 0);

template <typename X>
void ParallelSandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain,
                          const float* bias, X* out, size_t out_stride, size_t rows, size_t cols,
                          const LayerNormOptions& options, size_t threads = 0);

template <typename X>
void ParallelAdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows,
                     size_t cols, const LayerNormOptions& options, size_t threads = 0);

template <typename X>
void ParallelAdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias,
                               size_t rows_per_condition, GainForm gain_form, X* out, size_t out_stride, size_t rows,
                               size_t cols, const LayerNormOptions& options, size_t threads = 0);

template <typename X, typename Affine>
void ParallelPowerNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias,
                           const float* running_quadratic_mean, X* out, size_t out_stride, const ChannelShape& shape,
                           float eps, size_t threads = 0) {
  ParallelBatchNormEval(x, x_stride, gain, bias, static_cast<const float*>(nullptr), running_quadratic_mean, out,
                        out_stride, shape, eps, threads);
}

}  // namespace prenorm
