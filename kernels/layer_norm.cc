// Public entry of LayerNorm: checks in debug builds, then the unit of the types at hand.
#include "kernels/layer_norm.h"

#include "hwy/base.h"
#include "kernels/middle_rows.h"
#include "kernels/norm_check.h"

namespace prenorm {

template <typename X, typename Affine, typename Out>
void LayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out, size_t out_stride,
               size_t rows, size_t cols, const LayerNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckNorm("LayerNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());
  const auto run = [&](size_t begin, size_t end) {
    LayerNormDispatch(MakeLayerNormCall(x + begin * x_stride, x_stride, gain, bias, out + begin * out_stride,
                                        out_stride, end - begin, cols, options));
  };
  if constexpr (std::is_same_v<Out, bf16>) {
    const auto may_be = [&](size_t row) { return MayBeBalanced(x + row * x_stride, cols); };
    const auto precise = [&](size_t row) HWY_NOINLINE {
      const auto values = BalancedValues(x + row * x_stride, cols);
      if (!values) return false;
      PreciseLayerRow(x + row * x_stride, *values, gain, bias, out + row * out_stride, cols, options);
      return true;
    };
    return RunAround(rows, may_be, precise, run);
  }
  run(0, rows);
}

#define PRENORM_NORM(X, AFFINE, OUT)                                                                                 \
  template void LayerNorm<X, AFFINE, OUT>(const X*, size_t, const AFFINE*, const AFFINE*, OUT*, size_t, size_t rows, \
                                          size_t cols, const LayerNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
