// 1 / rms of rows, for products that apply it later.
#include <cstddef>

#include "kernels/norm_check.h"
#include "prenorm/norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/inv_rms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/rms_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#define PRENORM_DATA(NAME, X)                                                              \
  void InvRms##NAME(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols, \
                    const RmsNormOptions& options) {                                       \
    InvRmsRows(x, x_stride, inv_rms, rows, cols, options);                                 \
  }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_DATA(NAME, X)                                                                                         \
  HWY_EXPORT(InvRms##NAME);                                                                                           \
  template <>                                                                                                         \
  void InvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols, const RmsNormOptions& options) { \
    HWY_DASSERT(CheckOnePerRow("InvRms", x, x_stride, inv_rms, "inv_rms", rows, cols, options.eps).ok());             \
    HWY_DYNAMIC_DISPATCH(InvRms##NAME)(x, x_stride, inv_rms, rows, cols, options);                                    \
  }
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
