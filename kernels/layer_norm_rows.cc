// LayerNorm of rows: the instances of every SIMD target, for each pair of row types.
#include "kernels/layer_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
// clang-format on

// Name, type of x, type of out.
#undef PRENORM_ROW_TYPES
#define PRENORM_ROW_TYPES(INSTANCE) \
  INSTANCE(F32F32, float, float) \
  INSTANCE(F32Bf16, float, bf16) \
  INSTANCE(Bf16F32, bf16, float) \
  INSTANCE(Bf16Bf16, bf16, bf16)

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#undef PRENORM_ROWS
#define PRENORM_ROWS(NAME, X, OUT) \
  void LayerNorm##NAME(const LayerNormCall<X, OUT>& call) { LayerNormRows(call); }
PRENORM_ROW_TYPES(PRENORM_ROWS)

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_DISPATCH(NAME, X, OUT) \
  HWY_EXPORT(LayerNorm##NAME); \
  void LayerNormDispatch(const LayerNormCall<X, OUT>& call) { HWY_DYNAMIC_DISPATCH(LayerNorm##NAME)(call); }
PRENORM_ROW_TYPES(PRENORM_DISPATCH)

}  // namespace prenorm
#endif  // HWY_ONCE
