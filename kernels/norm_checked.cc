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

Status CheckedSoftmax(float* x, size_t stride, size_t rows, size_t cols) {
  OperandCheck check("Softmax", rows, cols);
  check.Rows(Block("x", x, stride, rows, cols));
  if (check.status().ok()) Softmax(x, stride, rows, cols);
  return check.status();
}

Status CheckedLogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols) {
  const RowBlock x_block = Block("x", x, stride, rows, cols);
  const RowBlock out_block = Block("out", out, rows, 1, rows);
  OperandCheck check("LogSumExp", rows, cols);
  check.Rows(x_block).Vector("out", out).Disjoint(x_block, out_block, false);
  if (check.status().ok()) LogSumExp(x, stride, out, rows, cols);
  return check.status();
}

#define PRENORM_NORM(X, AFFINE, OUT)                                                                               \
  template Status CheckedRmsNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, OUT*, size_t, size_t rows,       \
                                                 size_t cols, const RmsNormOptions&);                              \
  template Status CheckedLayerNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t,   \
                                                   size_t rows, size_t cols, const LayerNormOptions&);
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT)                                                                      \
  template Status CheckedResidualRmsNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t,           \
                                                         const AFFINE*, OUT*, size_t, size_t rows, size_t cols,    \
                                                         const Residual&, const RmsNormOptions&);                  \
  template Status CheckedResidualLayerNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t,         \
                                                           const AFFINE*, const AFFINE*, OUT*, size_t, size_t rows, \
                                                           size_t cols, const Residual&, const LayerNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
