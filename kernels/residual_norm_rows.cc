// Residual + norm of rows: the instances of every SIMD target, for each pair of row types.
#include "kernels/residual_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/residual_norm_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/residual_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#define PRENORM_RESIDUAL_UNIT(NAME, X, OUT)                                                      \
  void ResidualRmsNorm##NAME(const ResidualRmsCall<X, OUT>& call) { ResidualRmsNormRows(call); } \
  void ResidualLayerNorm##NAME(const ResidualLayerCall<X, OUT>& call) { ResidualLayerNormRows(call); }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_RESIDUAL_UNIT(NAME, X, OUT)                               \
  HWY_EXPORT(ResidualRmsNorm##NAME);                                      \
  HWY_EXPORT(ResidualLayerNorm##NAME);                                    \
  void ResidualRmsNormDispatch(const ResidualRmsCall<X, OUT>& call) {     \
    HWY_DYNAMIC_DISPATCH(ResidualRmsNorm##NAME)(call);                    \
  }                                                                       \
  void ResidualLayerNormDispatch(const ResidualLayerCall<X, OUT>& call) { \
    HWY_DYNAMIC_DISPATCH(ResidualLayerNorm##NAME)(call);                  \
  }
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
