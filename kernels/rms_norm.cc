// Public entry of RMSNorm: checks in debug builds, then the unit of the types at hand.
#include "kernels/rms_norm.h"

#include "hwy/base.h"
#include "kernels/middle_rows.h"
#include "kernels/norm_check.h"

namespace prenorm {

template <typename X, typename Gain, typename Out>
void RmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
             const RmsNormOptions& options) {
  if (rows == 0) return;
  HWY_DASSERT(CheckNorm("RmsNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());
  const auto run = [&](size_t begin, size_t end) {
    RmsNormDispatch(MakeRmsNormCall(x + begin * x_stride, x_stride, gain, out + begin * out_stride, out_stride,
                                    end - begin, cols, options));
  };
  if constexpr (std::is_same_v<Out, bf16>) {
    // Rounding x^ before the gain leaves nothing at the middle.
    const auto may_be = [&](size_t row) { return MayBeAlike(x + row * x_stride, cols); };
    const auto precise = [&](size_t row) HWY_NOINLINE {
      if (options.cast == CastMode::kLlama || !AlikeMagnitudes(x + row * x_stride, cols)) return false;
      PreciseRmsRow(x + row * x_stride, gain, out + row * out_stride, cols, options);
      return true;
    };
    return RunAround(rows, may_be, precise, run);
  }
  run(0, rows);
}

#define PRENORM_NORM(X, GAIN, OUT)                                                                           \
  template void RmsNorm<X, GAIN, OUT>(const X*, size_t, const GAIN*, OUT*, size_t, size_t rows, size_t cols, \
                                      const RmsNormOptions&);
#include "kernels/variants.inc"

}  // namespace prenorm
