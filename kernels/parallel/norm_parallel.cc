// Row-parallel entries of the norm layer.
#include "prenorm/norm_parallel.h"

#include "kernels/parallel/over_rows.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
void ParallelRmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows,
                     size_t cols, const RmsNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    RmsNorm(x + row * x_stride, x_stride, gain, out + row * out_stride, out_stride, count, cols, options);
  });
}

template <typename X, typename Affine, typename Out>
void ParallelLayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out, size_t out_stride,
                       size_t rows, size_t cols, const LayerNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    LayerNorm(x + row * x_stride, x_stride, gain, bias, out + row * out_stride, out_stride, count, cols, options);
  });
}

template <typename X, typename Gain, typename Out>
void ParallelResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                             const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
                             const Residual& residual, const RmsNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    ResidualRmsNorm(x + row * x_stride, x_stride, f + row * f_stride, f_stride, sum + row * sum_stride, sum_stride,
                    gain, out + row * out_stride, out_stride, count, cols, residual, options);
  });
}

template <typename X, typename Affine, typename Out>
void ParallelResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                               const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows,
                               size_t cols, const Residual& residual, const LayerNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    ResidualLayerNorm(x + row * x_stride, x_stride, f + row * f_stride, f_stride, sum + row * sum_stride, sum_stride,
                      gain, bias, out + row * out_stride, out_stride, count, cols, residual, options);
  });
}

void ParallelSoftmax(float* x, size_t stride, size_t rows, size_t cols, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) { Softmax(x + row * stride, stride, count, cols); });
}

void ParallelLogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols, size_t threads) {
  OverRows(rows, cols, threads,
           [&](size_t row, size_t count) { LogSumExp(x + row * stride, stride, out + row, count, cols); });
}

template <typename X>
void ParallelInvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                    const RmsNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    InvRms(x + row * x_stride, x_stride, inv_rms + row, count, cols, options);
  });
}

#define PRENORM_NORM(X, AFFINE, OUT)                                                                            \
  template void ParallelRmsNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, OUT*, size_t, size_t rows,     \
                                                size_t cols, const RmsNormOptions&, size_t threads);            \
  template void ParallelLayerNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t, \
                                                  size_t rows, size_t cols, const LayerNormOptions&, size_t threads);
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT)                                                                          \
  template void ParallelResidualRmsNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t, const AFFINE*, \
                                                        OUT*, size_t, size_t rows, size_t cols, const Residual&,       \
                                                        const RmsNormOptions&, size_t threads);                        \
  template void ParallelResidualLayerNorm<X, AFFINE, OUT>(                                                             \
      const X*, size_t, const X*, size_t, X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t, size_t rows,         \
      size_t cols, const Residual&, const LayerNormOptions&, size_t threads);
#define PRENORM_DATA(NAME, X) \
  template void ParallelInvRms<X>(const X*, size_t, float*, size_t rows, size_t cols, const RmsNormOptions&, size_t);
#include "kernels/variants.inc"

}  // namespace prenorm
