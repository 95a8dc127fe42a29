// 1 / rms of rows, for products that apply it later.
#include <cstddef>

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

void InvRmsF32(const float* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
               const RmsNormOptions& options) {
  InvRmsRows(x, x_stride, inv_rms, rows, cols, options);
}
void InvRmsBf16(const bf16* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                const RmsNormOptions& options) {
  InvRmsRows(x, x_stride, inv_rms, rows, cols, options);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(InvRmsF32);
HWY_EXPORT(InvRmsBf16);

template <>
void InvRms(const float* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols, const RmsNormOptions& options) {
  HWY_DYNAMIC_DISPATCH(InvRmsF32)(x, x_stride, inv_rms, rows, cols, options);
}
template <>
void InvRms(const bf16* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols, const RmsNormOptions& options) {
  HWY_DYNAMIC_DISPATCH(InvRmsBf16)(x, x_stride, inv_rms, rows, cols, options);
}

}  // namespace prenorm
#endif  // HWY_ONCE
