// Compositions of norms: dispatch and public entries.
#include <cstddef>

#include "kernels/norm_forms.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm_forms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/norm_forms-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ScaleF32(const FormRows<float>& call, float g, float eps) { ScaleNormRows(call, g, eps); }
void ScaleBf16(const FormRows<bf16>& call, float g, float eps) { ScaleNormRows(call, g, eps); }
void SandwichF32(const SandwichCall<float>& call, const LayerNormOptions& options) { SandwichNormRows(call, options); }
void SandwichBf16(const SandwichCall<bf16>& call, const LayerNormOptions& options) { SandwichNormRows(call, options); }
void AdaF32(const FormRows<float>& call, float scale, float k, const LayerNormOptions& options) {
  AdaNormRows(call, scale, k, options);
}
void AdaBf16(const FormRows<bf16>& call, float scale, float k, const LayerNormOptions& options) {
  AdaNormRows(call, scale, k, options);
}
void AdaptiveF32(const FormRows<float>& call, const AdaptiveAffine& affine, const LayerNormOptions& options) {
  AdaptiveLayerNormRows(call, affine, options);
}
void AdaptiveBf16(const FormRows<bf16>& call, const AdaptiveAffine& affine, const LayerNormOptions& options) {
  AdaptiveLayerNormRows(call, affine, options);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ScaleF32);
HWY_EXPORT(ScaleBf16);
HWY_EXPORT(SandwichF32);
HWY_EXPORT(SandwichBf16);
HWY_EXPORT(AdaF32);
HWY_EXPORT(AdaBf16);
HWY_EXPORT(AdaptiveF32);
HWY_EXPORT(AdaptiveBf16);

#define PRENORM_FORMS(X, SUFFIX)                                                                                       \
  template <>                                                                                                          \
  void ScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,            \
                 float eps) {                                                                                          \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(cols > 0 && eps >= 0.0f);                                                                              \
    HWY_DYNAMIC_DISPATCH(Scale##SUFFIX)({x, x_stride, out, out_stride, rows, cols}, g, eps);                           \
  }                                                                                                                    \
  template <>                                                                                                          \
  void SandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain, const float* bias,    \
                    X* out, size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options) {            \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(cols > 0 && options.eps >= 0.0f);                                                                      \
    HWY_DYNAMIC_DISPATCH(Sandwich##SUFFIX)                                                                             \
    ({{f, f_stride, out, out_stride, rows, cols}, x, x_stride, gain, bias}, options);                                  \
  }                                                                                                                    \
  template <>                                                                                                          \
  void AdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows, size_t cols, \
               const LayerNormOptions& options) {                                                                      \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(cols > 0 && options.eps >= 0.0f);                                                                      \
    HWY_DYNAMIC_DISPATCH(Ada##SUFFIX)({x, x_stride, out, out_stride, rows, cols}, scale, k, options);                  \
  }                                                                                                                    \
  template <>                                                                                                          \
  void AdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias, size_t rows_per_condition, \
                         GainForm gain_form, X* out, size_t out_stride, size_t rows, size_t cols,                      \
                         const LayerNormOptions& options) {                                                            \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(cols > 0 && options.eps >= 0.0f && rows_per_condition > 0);                                            \
    HWY_DYNAMIC_DISPATCH(Adaptive##SUFFIX)                                                                             \
    ({x, x_stride, out, out_stride, rows, cols}, {gain, bias, rows_per_condition, gain_form}, options);                \
  }
PRENORM_FORMS(float, F32)
PRENORM_FORMS(bf16, Bf16)
#undef PRENORM_FORMS

}  // namespace prenorm
#endif  // HWY_ONCE
