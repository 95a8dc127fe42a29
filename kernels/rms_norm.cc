// Public entry of RMSNorm: checks in debug builds, then the unit of the types at hand.
#include "kernels/rms_norm.h"

#include "hwy/base.h"
#include "kernels/norm_check.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
void RmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
             const RmsNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckNorm("RmsNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());
  RmsNormDispatch(MakeRmsNormCall(x, x_stride, gain, out, out_stride, rows, cols, options));
}

#define PRENORM_NORM(X, GAIN, OUT)                                                                           \
  template void RmsNorm<X, GAIN, OUT>(const X*, size_t, const GAIN*, OUT*, size_t, size_t rows, size_t cols, \
                                      const RmsNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
