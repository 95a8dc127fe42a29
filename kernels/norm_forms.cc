// Compositions of norms: dispatch and public entries.
#include <cstddef>

#include "kernels/norm_check.h"
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

#define PRENORM_DATA(NAME, X)                                                                                   \
  void Scale##NAME(const FormRows<X>& call, float g, float eps) { ScaleNormRows(call, g, eps); }                \
  void Sandwich##NAME(const SandwichCall<X>& call, const LayerNormOptions& options) {                           \
    SandwichNormRows(call, options);                                                                            \
  }                                                                                                             \
  void Ada##NAME(const FormRows<X>& call, float scale, float k, const LayerNormOptions& options) {              \
    AdaNormRows(call, scale, k, options);                                                                       \
  }                                                                                                             \
  void Adaptive##NAME(const FormRows<X>& call, const AdaptiveAffine& affine, const LayerNormOptions& options) { \
    AdaptiveLayerNormRows(call, affine, options);                                                               \
  }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_DATA(NAME, X)                                                                                          \
  HWY_EXPORT(Scale##NAME);                                                                                             \
  HWY_EXPORT(Sandwich##NAME);                                                                                          \
  HWY_EXPORT(Ada##NAME);                                                                                               \
  HWY_EXPORT(Adaptive##NAME);                                                                                          \
  template <>                                                                                                          \
  void ScaleNorm(const X* x, size_t x_stride, float g, X* out, size_t out_stride, size_t rows, size_t cols,            \
                 float eps) {                                                                                          \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(CheckNorm("ScaleNorm", x, x_stride, out, out_stride, rows, cols, eps).ok());                           \
    HWY_DYNAMIC_DISPATCH(Scale##NAME)({x, x_stride, out, out_stride, rows, cols}, g, eps);                             \
  }                                                                                                                    \
  template <>                                                                                                          \
  void SandwichNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, const float* gain, const float* bias,    \
                    X* out, size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options) {            \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(                                                                                                       \
        CheckSandwich("SandwichNorm", x, x_stride, f, f_stride, out, out_stride, rows, cols, options.eps).ok());       \
    HWY_DYNAMIC_DISPATCH(Sandwich##NAME)                                                                               \
    ({{f, f_stride, out, out_stride, rows, cols}, x, x_stride, gain, bias}, options);                                  \
  }                                                                                                                    \
  template <>                                                                                                          \
  void AdaNorm(const X* x, size_t x_stride, float scale, float k, X* out, size_t out_stride, size_t rows, size_t cols, \
               const LayerNormOptions& options) {                                                                      \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(CheckNorm("AdaNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());                     \
    HWY_DYNAMIC_DISPATCH(Ada##NAME)({x, x_stride, out, out_stride, rows, cols}, scale, k, options);                    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void AdaptiveLayerNorm(const X* x, size_t x_stride, const float* gain, const float* bias, size_t rows_per_condition, \
                         GainForm gain_form, X* out, size_t out_stride, size_t rows, size_t cols,                      \
                         const LayerNormOptions& options) {                                                            \
    if (rows == 0) return;                                                                                             \
    HWY_DASSERT(CheckNorm("AdaptiveLayerNorm", x, x_stride, out, out_stride, rows, cols, options.eps).ok());           \
    HWY_DASSERT(CheckConditions("AdaptiveLayerNorm", rows_per_condition).ok());                                        \
    HWY_DYNAMIC_DISPATCH(Adaptive##NAME)                                                                               \
    ({x, x_stride, out, out_stride, rows, cols}, {gain, bias, rows_per_condition, gain_form}, options);                \
  }
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
