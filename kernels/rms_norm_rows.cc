// RMSNorm of rows: the instances of every SIMD target, for each pair of row types.
#include "kernels/rms_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/rms_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#define PRENORM_NORM_UNIT(NAME, X, OUT)                                                  \
  void ScalePiece(const X* x, const float* gain, OUT* out, size_t cols, float inv_rms) { \
    ScaleColumns<false>(x, gain, out, cols, inv_rms);                                    \
  }                                                                                      \
  void ScaleRow(const X* x, RmsGain& gain, OUT* out, RmsFactors factors) {               \
    ScalePieces(x, gain, out, factors,                                                   \
                [](const X* piece, const float* g, OUT* to, size_t cols, float inv_rms)  \
                    HWY_ATTR { ScalePiece(piece, g, to, cols, inv_rms); });              \
  }                                                                                      \
  void RmsNorm##NAME(const RmsNormCall<X, OUT>& call) { RmsNormRows(call); }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_NORM_UNIT(NAME, X, OUT) \
  HWY_EXPORT(RmsNorm##NAME);            \
  void RmsNormDispatch(const RmsNormCall<X, OUT>& call) { HWY_DYNAMIC_DISPATCH(RmsNorm##NAME)(call); }
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
