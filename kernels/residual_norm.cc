// Public entries of residual + norm: checks in debug builds, then the unit of the types at hand.
#include "kernels/residual_norm.h"

#include "hwy/base.h"
#include "kernels/norm_check.h"

namespace prenorm {
template <typename X, typename Gain, typename Out>
void ResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                     const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols, const Residual& residual,
                     const RmsNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckResidual("ResidualRmsNorm", x, x_stride, f, f_stride, sum, sum_stride, out, out_stride, rows, cols,
                            residual, options.eps)
                  .ok());
  const X* norm_x = sum;
  ResidualRmsNormDispatch({x, x_stride, f, f_stride, sum, &residual,
                           MakeRmsNormCall(norm_x, sum_stride, gain, out, out_stride, rows, cols, options)});
}

template <typename X, typename Affine, typename Out>
void ResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                       const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows, size_t cols,
                       const Residual& residual, const LayerNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckResidual("ResidualLayerNorm", x, x_stride, f, f_stride, sum, sum_stride, out, out_stride, rows, cols,
                            residual, options.eps)
                  .ok());
  const X* norm_x = sum;
  ResidualLayerNormDispatch({x, x_stride, f, f_stride, sum, &residual,
                             MakeLayerNormCall(norm_x, sum_stride, gain, bias, out, out_stride, rows, cols, options)});
}

#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT)                                                                        \
  template void ResidualRmsNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t, const AFFINE*, OUT*, \
                                                size_t, size_t rows, size_t cols, const Residual&,                   \
                                                const RmsNormOptions&);                                              \
  template void ResidualLayerNorm<X, AFFINE, OUT>(const X*, size_t, const X*, size_t, X*, size_t, const AFFINE*,     \
                                                  const AFFINE*, OUT*, size_t, size_t rows, size_t cols,             \
                                                  const Residual&, const LayerNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
