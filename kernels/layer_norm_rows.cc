// LayerNorm of rows: the instances of every SIMD target, for each pair of row types.
#include "kernels/layer_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#define PRENORM_NORM_UNIT(NAME, X, OUT)                                                                        \
  void ApplyLayerPiece(const X* x, const float* gain, const float* bias, OUT* out, size_t cols,                \
                       const LayerFactors& factors) {                                                          \
    ApplyLayerColumns<false>(x, gain, bias, out, cols, factors);                                               \
  }                                                                                                            \
  void ApplyLayerRow(const X* x, LayerAffine& affine, OUT* out, const LayerFactors& factors) {                 \
    ApplyLayerPieces(x, affine, out, factors,                                                                  \
                     [](const X* piece, const float* gain, const float* bias, OUT* to, size_t cols,            \
                        const LayerFactors& f) HWY_ATTR { ApplyLayerPiece(piece, gain, bias, to, cols, f); }); \
  }                                                                                                            \
  void LayerNorm##NAME(const LayerNormCall<X, OUT>& call) { LayerNormRows(call); }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_NORM_UNIT(NAME, X, OUT) \
  HWY_EXPORT(LayerNorm##NAME);          \
  void LayerNormDispatch(const LayerNormCall<X, OUT>& call) { HWY_DYNAMIC_DISPATCH(LayerNorm##NAME)(call); }
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
