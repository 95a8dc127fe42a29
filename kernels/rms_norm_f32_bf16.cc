// RMSNorm of float rows into bf16 rows: the instances of every SIMD target.
#include "kernels/rms_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm_f32_bf16.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/rms_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void RmsNormUnit(const RmsNormCall<float, bf16>& call) { RmsNormRows(call); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(RmsNormUnit);

void RmsNormDispatch(const RmsNormCall<float, bf16>& call) { HWY_DYNAMIC_DISPATCH(RmsNormUnit)(call); }

}  // namespace prenorm
#endif  // HWY_ONCE
