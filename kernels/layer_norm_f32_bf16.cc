// LayerNorm of float rows into bf16 rows: the instances of every SIMD target.
#include "kernels/layer_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm_f32_bf16.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void LayerNormUnit(const LayerNormCall<float, bf16>& call) { LayerNormRows(call); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(LayerNormUnit);

void LayerNormDispatch(const LayerNormCall<float, bf16>& call) { HWY_DYNAMIC_DISPATCH(LayerNormUnit)(call); }

}  // namespace prenorm
#endif  // HWY_ONCE
