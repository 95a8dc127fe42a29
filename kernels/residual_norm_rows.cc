// Residual + norm of rows: the instances of every SIMD target, for each pair of row types.
#include "kernels/residual_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/residual_norm_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/residual_norm-inl.h"
// clang-format on

// Name, type of x, type of out.
#undef PRENORM_ROW_TYPES
#define PRENORM_ROW_TYPES(INSTANCE) \
  INSTANCE(F32F32, float, float) \
  INSTANCE(F32Bf16, float, bf16) \
  INSTANCE(Bf16Bf16, bf16, bf16)

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#undef PRENORM_ROWS
#define PRENORM_ROWS(NAME, X, OUT) \
  void ResidualRmsNorm##NAME(const ResidualRmsCall<X, OUT>& call) { ResidualRmsNormRows(call); } \
  void ResidualLayerNorm##NAME(const ResidualLayerCall<X, OUT>& call) { ResidualLayerNormRows(call); }
PRENORM_ROW_TYPES(PRENORM_ROWS)

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_DISPATCH(NAME, X, OUT) \
  HWY_EXPORT(ResidualRmsNorm##NAME); \
  HWY_EXPORT(ResidualLayerNorm##NAME); \
  void ResidualRmsNormDispatch(const ResidualRmsCall<X, OUT>& call) { HWY_DYNAMIC_DISPATCH(ResidualRmsNorm##NAME)(call); } \
  void ResidualLayerNormDispatch(const ResidualLayerCall<X, OUT>& call) { HWY_DYNAMIC_DISPATCH(ResidualLayerNorm##NAME)(call); }
PRENORM_ROW_TYPES(PRENORM_DISPATCH)

}  // namespace prenorm
#endif  // HWY_ONCE
