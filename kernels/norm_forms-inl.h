// Compositions: statistics of RMSNorm or LayerNorm, each with a sweep of its own.

#include "kernels/norm_forms.h"

#if defined(PRENORM_KERNELS_NORM_FORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_NORM_FORMS_INL_H_
#undef PRENORM_KERNELS_NORM_FORMS_INL_H_
#else
#define PRENORM_KERNELS_NORM_FORMS_INL_H_
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
#include "kernels/rms_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x / sqrt(sum + eps) = x / sqrt(mean + eps / cols) / sqrt(cols).
template <typename X>
HWY_INLINE void ScaleNormRows(const FormRows<X>& call, float g, float eps) {
  RmsNormOptions options;
  options.eps = static_cast<float>(static_cast<double>(eps) / static_cast<double>(call.cols));
  const RmsStatistics statistics(call.cols, options);
  RmsGain gain(static_cast<float>(static_cast<double>(g) / std::sqrt(static_cast<double>(call.cols))), call.cols);
  for (size_t row = 0; row < call.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    ScaleRow(x, gain, call.out + row * call.out_stride, statistics.Factors(x));
  }
}

// out = op(x_hat, sources_of(row)...) for each row.
template <typename X, class Op, class... SourcesOf>
HWY_INLINE void MapNormalized(const FormRows<X>& call, const LayerNormOptions& options, const Op& op,
                              const SourcesOf&... sources_of) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const LayerStatistics statistics(call.cols, options);
  for (size_t row = 0; row < call.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    const LayerFactors factors = statistics.Factors(x);
    const V shift = hn::Set(df, factors.shift);
    const V offset = hn::Set(df, factors.offset);
    const V inv_stddev = hn::Set(df, factors.inv_stddev);
    const auto func = [&](V v, auto... others)
                          HWY_ATTR { return op(hn::MulAdd(hn::Sub(v, shift), inv_stddev, offset), others...); };
    MapRow(df, call.cols, call.out + row * call.out_stride, func, Scaled<const X*>{x, factors.scale},
           sources_of(row)...);
  }
}

template <typename X>
HWY_INLINE void SandwichNormRows(const SandwichCall<X>& call, const LayerNormOptions& options) {
  using V = hn::Vec<RowTag>;
  const auto op = [](V x_hat, V gain, V bias, V x) HWY_ATTR { return hn::Add(x, hn::MulAdd(x_hat, gain, bias)); };
  MapNormalized(
      call.f, options, op,
      [&](size_t) {
        return Nullable<float>{call.gain, 1.0f};
      },
      [&](size_t) {
        return Nullable<float>{call.bias, -0.0f};
      },
      [&](size_t row) { return call.x + row * call.x_stride; });
}

template <typename X>
HWY_INLINE void AdaNormRows(const FormRows<X>& call, float scale, float k, const LayerNormOptions& options) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const V one = hn::Set(df, 1.0f);
  const V scales = hn::Set(df, scale);
  const V ks = hn::Set(df, k);
  MapNormalized(call, options,
                [&](V x_hat) HWY_ATTR { return hn::Mul(hn::Mul(scales, hn::NegMulAdd(ks, x_hat, one)), x_hat); });
}

template <typename X>
HWY_INLINE void AdaptiveLayerNormRows(const FormRows<X>& call, const AdaptiveAffine& affine,
                                      const LayerNormOptions& options) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const auto condition = [&](const float* p, size_t row, float missing) {
    return Nullable<float>{p == nullptr ? nullptr : p + row / affine.rows_per_condition * call.cols, missing};
  };
  // Adding -0 changes no bit.
  const bool one_plus = affine.gain != nullptr && affine.gain_form == GainForm::kOnePlusGain;
  const V gain_shift = hn::Set(df, one_plus ? 1.0f : -0.0f);
  const auto op = [&](V x_hat, V gain, V bias) HWY_ATTR { return hn::MulAdd(x_hat, hn::Add(gain_shift, gain), bias); };
  MapNormalized(
      call, options, op, [&](size_t row) { return condition(affine.gain, row, 1.0f); },
      [&](size_t row) { return condition(affine.bias, row, -0.0f); });
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_NORM_FORMS_INL_H_
