// Checked entries of the compositions: refuse bad operands with the numbers, else call the unchecked function.
#include "kernels/norm_check.h"
#include "prenorm/norm_forms.h"

namespace prenorm {

template <typename X>
Status CheckedScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,
                        float eps) {
  Status status = CheckNorm("ScaleNorm", x, x_stride, out, out_stride, rows, cols, eps);
  if (status.ok()) ScaleNorm(x, x_stride, g, out, out_stride, rows, cols, eps);
  return status;
}

template <typename X>
Status CheckedSandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain,
                           const float* bias, X* out, size_t out_stride, size_t rows, size_t cols,
                           const LayerNormOptions& options) {
  Status status = CheckSandwich("SandwichNorm", x, x_stride, f, f_stride, out, out_stride, rows, cols, options.eps);
  if (status.ok()) SandwichNorm(x, x_stride, f, f_stride, gain, bias, out, out_stride, rows, cols, options);
  return status;
}

template <typename X>
Status CheckedAdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows,
                      size_t cols, const LayerNormOptions& options) {
  Status status = CheckNorm("AdaNorm", x, x_stride, out, out_stride, rows, cols, options.eps);
  if (status.ok()) AdaNorm(x, x_stride, scale, k, out, out_stride, rows, cols, options);
  return status;
}

template <typename X>
Status CheckedAdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias,
                                size_t rows_per_condition, GainForm gain_form, X* out, size_t out_stride, size_t rows,
                                size_t cols, const LayerNormOptions& options) {
  Status status = CheckConditions("AdaptiveLayerNorm", rows_per_condition);
  if (status.ok()) status = CheckNorm("AdaptiveLayerNorm", x, x_stride, out, out_stride, rows, cols, options.eps);
  if (status.ok()) {
    AdaptiveLayerNorm(x, x_stride, gain, bias, rows_per_condition, gain_form, out, out_stride, rows, cols, options);
  }
  return status;
}

#define PRENORM_DATA(NAME, X)                                                                                        \
  template Status CheckedScaleNorm<X>(const X*, size_t, float, X*, size_t, size_t rows, size_t cols, float);         \
  template Status CheckedSandwichNorm<X>(const X*, size_t, const X*, size_t, const float*, const float*, X*, size_t, \
                                         size_t rows, size_t cols, const LayerNormOptions&);                         \
  template Status CheckedAdaNorm<X>(const X*, size_t, float, float, X*, size_t, size_t rows, size_t cols,            \
                                    const LayerNormOptions&);                                                        \
  template Status CheckedAdaptiveLayerNorm<X>(const X*, size_t, const float*, const float*, size_t, GainForm, X*,    \
                                              size_t, size_t rows, size_t cols, const LayerNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
