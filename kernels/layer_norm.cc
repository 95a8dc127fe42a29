// Public entry of LayerNorm: checks in debug builds, then the unit of the types at hand.
#include "kernels/layer_norm.h"

#include "hwy/base.h"
#include "kernels/norm_check.h"

namespace prenorm {

template <typename X, typename Affine, typename Out>
void LayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out, size_t out_stride,
               size_t rows, size_t cols, const LayerNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckNorm("LayerNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());
  LayerNormDispatch(MakeLayerNormCall(x, x_stride, gain, bias, out, out_stride, rows, cols, options));
}

#define PRENORM_NORM(X, AFFINE, OUT)                                                                                 \
  template void LayerNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t, size_t rows, \
                                          size_t cols, const LayerNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
