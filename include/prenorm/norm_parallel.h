// norm.h with the rows shared among the threads of an OpenMP team. Same results, bit for bit, for every thread count.
//
// `threads` is the most to use; 0 means the default of OpenMP. A single row or little work (below 32768 elements per
// thread, where starting a team would cost more than it saves) runs on the calling thread.
#pragma once

#include <cstddef>

#include "prenorm/norm.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
void ParallelRmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows,
                     size_t cols, const RmsNormOptions& options, size_t threads = 0);

template <typename X, typename Affine, typename Out>
void ParallelLayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out, size_t out_stride,
                       size_t rows, size_t cols, const LayerNormOptions& options, size_t threads = 0);

template <typename X, typename Gain, typename Out>
void ParallelResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                             const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
                             const Residual& residual, const RmsNormOptions& options, size_t threads = 0);

template <typename X, typename Affine, typename Out>
void ParallelResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                               const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows,
                               size_t cols, const Residual& residual, const LayerNormOptions& options,
                               size_t threads = 0);

template <typename X>
void ParallelInvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                    const RmsNormOptions& options, size_t threads = 0);

void ParallelSoftmax(float* x, size_t stride, size_t rows, size_t cols, size_t threads = 0);

void ParallelLogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols, size_t threads = 0);

}  // namespace prenorm
