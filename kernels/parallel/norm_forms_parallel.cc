// Row-parallel entries of the compositions.
#include <algorithm>

#include "kernels/parallel/over_rows.h"
#include "prenorm/norm_forms.h"

namespace prenorm {

template <typename X>
void ParallelScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,
                       float eps, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    ScaleNorm(x + row * x_stride, x_stride, g, out + row * out_stride, out_stride, count, cols, eps);
  });
}

template <typename X>
void ParallelSandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain,
                          const float* bias, X* out, size_t out_stride, size_t rows, size_t cols,
                          const LayerNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    SandwichNorm(x + row * x_stride, x_stride, f + row * f_stride, f_stride, gain, bias, out + row * out_stride,
                 out_stride, count, cols, options);
  });
}

template <typename X>
void ParallelAdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows,
                     size_t cols, const LayerNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t row, size_t count) {
    AdaNorm(x + row * x_stride, x_stride, scale, k, out + row * out_stride, out_stride, count, cols, options);
  });
}

template <typename X>
void ParallelAdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias,
                               size_t rows_per_condition, GainForm gain_form, X* out, size_t out_stride, size_t rows,
                               size_t cols, const LayerNormOptions& options, size_t threads) {
  OverRows(rows, cols, threads, [&](size_t begin, size_t count) {
    // A part may begin and end within a condition: one call for each that it touches.
    for (size_t row = begin; row < begin + count;) {
      const size_t condition = row / rows_per_condition;
      const size_t part = std::min(begin + count - row, rows_per_condition - row % rows_per_condition);
      const auto of_condition = [&](const float* p) { return p == nullptr ? nullptr : p + condition * cols; };
      AdaptiveLayerNorm(x + row * x_stride, x_stride, of_condition(gain), of_condition(bias), part, gain_form,
                        out + row * out_stride, out_stride, part, cols, options);
      row += part;
    }
  });
}

#define PRENORM_DATA(NAME, X)                                                                                       \
  template void ParallelScaleNorm<X>(const X*, size_t, float, X*, size_t, size_t rows, size_t cols, float, size_t); \
  template void ParallelSandwichNorm<X>(const X*, size_t, const X*, size_t, const float*, const float*, X*, size_t, \
                                        size_t rows, size_t cols, const LayerNormOptions&, size_t threads);         \
  template void ParallelAdaNorm<X>(const X*, size_t, float, float, X*, size_t, size_t rows, size_t cols,            \
                                   const LayerNormOptions&, size_t threads);                                        \
  template void ParallelAdaptiveLayerNorm<X>(const X*, size_t, const float*, const float*, size_t, GainForm, X*,    \
                                             size_t, size_t rows, size_t cols, const LayerNormOptions&,             \
                                             size_t threads);
#include "kernels/variants.inc"

}  // namespace prenorm
