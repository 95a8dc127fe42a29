// Checked entries of the norm layer: refuse bad operands with the numbers, else call the unchecked function.
#include "prenorm/norm_checked.h"

#include "kernels/norm_check.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
Status CheckedRmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows,
                      size_t cols, const RmsNormOptions& options) {
  Status status = CheckNorm("RmsNorm", x, x_stride, out, out_stride, rows, cols, options.eps);
  if (status.ok()) RmsNorm(x, x_stride, gain, out, out_stride, rows, cols, options);
  return status;
}

template <typename X, typename Affine, typename Out>
Status CheckedLayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out,
                        size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options) {
  Status status = CheckNorm("LayerNorm", x, x_stride, out, out_stride, rows, cols, options.eps);
  if (status.ok()) LayerNorm(x, x_stride, gain, bias, out, out_stride, rows, cols, options);
  return status;
}

template <typename X, typename Gain, typename Out>
Status CheckedResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                              const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
                              const Residual& residual, const RmsNormOptions& options) {
  Status status = CheckResidual("ResidualRmsNorm", x, x_stride, f, f_stride, sum, sum_stride, out, out_stride, rows,
                                cols, residual, options.eps);
  if (status.ok()) {
    ResidualRmsNorm(x, x_stride, f, f_stride, sum, sum_stride, gain, out, out_stride, rows, cols, residual, options);
  }
  return status;
}

template <typename X, typename Affine, typename Out>
Status CheckedResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                                const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows,
                                size_t cols, const Residual& residual, const LayerNormOptions& options) {
  Status status = CheckResidual("ResidualLayerNorm", x, x_stride, f, f_stride, sum, sum_stride, out, out_stride, rows,
                                cols, residual, options.eps);
  if (status.ok()) {
    ResidualLayerNorm(x, x_stride, f, f_stride, sum, sum_stride, gain, bias, out, out_stride, rows, cols, residual,
                      options);
  }
  return status;
}

template <typename X>
Status CheckedInvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                     const RmsNormOptions& options) {
  Status status = CheckOnePerRow("InvRms", x, x_stride, inv_rms, "inv_rms", rows, cols, options.eps);
  if (status.ok()) InvRms(x, x_stride, inv_rms, rows, cols, options);
  return status;
}

Status CheckedSoftmax(float* x, size_t stride, size_t rows, size_t cols) {
  Status status = CheckSoftmax(x, stride, rows, cols);
  if (status.ok()) Softmax(x, stride, rows, cols);
  return status;
}

Status CheckedLogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols) {
  Status status = CheckOnePerRow("LogSumExp", x, stride, out, "out", rows, cols, 0.0f);
  if (status.ok()) LogSumExp(x, stride, out, rows, cols);
  return status;
}

#define PRENORM_NORM(X, AFFINE, OUT)                                                                             \
  template Status CheckedRmsNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, OUT*, size_t, size_t rows,     \
                                                 size_t cols, const RmsNormOptions&);                            \
  template Status CheckedLayerNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t, \
                                                   size_t rows, size_t cols, const LayerNormOptions&);
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT)                                                                       \
  template Status CheckedResidualRmsNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t,            \
                                                         const AFFINE*, OUT*, size_t, size_t rows, size_t cols,     \
                                                         const Residual&, const RmsNormOptions&);                   \
  template Status CheckedResidualLayerNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t,          \
                                                           const AFFINE*, const AFFINE*, OUT*, size_t, size_t rows, \
                                                           size_t cols, const Residual&, const LayerNormOptions&);
#define PRENORM_DATA(NAME, X) \
  template Status CheckedInvRms<X>(const X*, size_t, float*, size_t rows, size_t cols, const RmsNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
