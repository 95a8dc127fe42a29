// Residual + norm of float rows into bf16 rows: the instances of every SIMD target.
#include "kernels/residual_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/residual_norm_f32_bf16.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/residual_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ResidualRmsNormUnit(const ResidualRmsCall<float, bf16>& call) { ResidualRmsNormRows(call); }
void ResidualLayerNormUnit(const ResidualLayerCall<float, bf16>& call) { ResidualLayerNormRows(call); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ResidualRmsNormUnit);
HWY_EXPORT(ResidualLayerNormUnit);

void ResidualRmsNormDispatch(const ResidualRmsCall<float, bf16>& call) {
  HWY_DYNAMIC_DISPATCH(ResidualRmsNormUnit)(call);
}
void ResidualLayerNormDispatch(const ResidualLayerCall<float, bf16>& call) {
  HWY_DYNAMIC_DISPATCH(ResidualLayerNormUnit)(call);
}

}  // namespace prenorm
#endif  // HWY_ONCE
