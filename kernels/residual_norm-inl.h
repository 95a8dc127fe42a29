// Residual sum and norm of a row in one go: the sum is formed in the visit that takes the statistics.

#include "kernels/residual_norm.h"

#if defined(PRENORM_KERNELS_RESIDUAL_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#undef PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#else
#define PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
#include "kernels/residual-inl.h"
#include "kernels/rms_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

template <typename X, typename Out>
HWY_INLINE void ResidualRmsNormRows(const ResidualRmsCall<X, Out>& call) {
  const RmsNormCall<X, Out>& norm = call.norm;
  const RmsStatistics statistics(norm.cols, *norm.options);
  const RmsScaling scaling(*norm.options);
  for (size_t row = 0; row < norm.rows; ++row) {
    X* sum = call.sum + row * norm.x_stride;
    RmsFactors factors = {};
    WithResidualSource(call.x + row * call.x_stride, call.f + row * call.f_stride, sum, *call.residual,
                       [&](const auto& source) HWY_ATTR {
                         statistics.Factors(
                             1, [&](size_t) HWY_ATTR { return source; },
                             [&](size_t) HWY_ATTR { return static_cast<const X*>(sum); }, &factors);
                       });
    scaling.ApplyRow(static_cast<const X*>(sum), norm, norm.out + row * norm.out_stride, factors);
  }
}

template <typename X, typename Out>
HWY_INLINE void ResidualLayerNormRows(const ResidualLayerCall<X, Out>& call) {
  const LayerNormCall<X, Out>& norm = call.norm;
  const LayerStatistics statistics(norm.cols, *norm.options);
  for (size_t row = 0; row < norm.rows; ++row) {
    X* sum = call.sum + row * norm.x_stride;
    LayerFactors factors = {};
    // The first visit only reads: where the sum replaces an operand, that operand is needed once more.
    WithResidualSource(call.x + row * call.x_stride, call.f + row * call.f_stride, sum, *call.residual,
                       [&](const auto& source) HWY_ATTR {
                         auto first = source;
                         first.sum = nullptr;
                         factors = statistics.Factors(first, source, static_cast<const X*>(sum));
                       });
    ApplyLayerRow(static_cast<const X*>(sum), norm, norm.out + row * norm.out_stride, factors);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
