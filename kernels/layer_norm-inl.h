// LayerNorm of rows: corrected two-pass statistics with range handling, then one sweep that applies them.
//
// Pass 1 gives a rough mean m0; pass 2 sums d = x - m0 and d^2; the correction is delta = mean(d), the variance
// mean(d^2) - delta^2; applied is (x - m0) - delta. d is small and mostly exact however far the mean is from 0, so
// neither the rounding of the mean nor a cancellation between large squares reaches the result.

#include "kernels/layer_norm.h"

#if defined(PRENORM_KERNELS_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_LAYER_NORM_INL_H_
#undef PRENORM_KERNELS_LAYER_NORM_INL_H_
#else
#define PRENORM_KERNELS_LAYER_NORM_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The factors of a row: x_hat = (((x * scale) - shift) - delta) * inv_stddev; scale is 1 but for extreme rows.
struct LayerFactors {
  float shift;
  float delta;
  float inv_stddev;
  float scale;
};

// 1 / sqrt(variance + eps). The eps of a row that is scaled down may have a root beyond f32; such a row has no variance
// that f32 could hold, so every distance is 0 and any finite factor does. Zero variance without eps gives Inf, hence NaN.
HWY_INLINE float InvStddev(double square) {
  const double inv_stddev = 1.0 / std::sqrt(square);
  const double max = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(square > 0.0 ? std::min(inv_stddev, max) : inv_stddev);
}

// Mean and mean squared distance from it; the mean is shift + delta.
struct Moments {
  float shift;
  double delta;
  double variance;
};

// True divisions: count * c / count == c, so that a constant row has a variance of exactly 0.
template <class First, class Second>
HWY_INLINE Moments TwoPassMoments(const First& first, const Second& second, size_t begin, size_t end) {
  const double count = static_cast<double>(end - begin);
  const float shift = static_cast<float>(Sum(first, begin, end) / count);
  const RowSums sums = SumAndSquares(Shifted<Second>{second, shift}, begin, end);
  const double delta = sums.sum / count;
  // This order of arguments keeps a NaN.
  return {shift, delta, std::max(sums.squares / count - delta * delta, 0.0)};
}

// One pass over memory: the moments of each chunk while it is in L1, merged as by Chan, Golub and LeVeque (1979).
template <class First, class Second>
HWY_INLINE Moments SinglePassMoments(const First& first, const Second& second, size_t cols) {
  double mean = 0.0;
  double squares = 0.0;
  double count = 0.0;
  for (size_t begin = 0; begin < cols; begin += kChunk) {
    const size_t end = std::min(cols, begin + kChunk);
    const double chunk_count = static_cast<double>(end - begin);
    const Moments chunk = TwoPassMoments(first, second, begin, end);
    const double distance = (static_cast<double>(chunk.shift) - mean) + chunk.delta;
    const double total = count + chunk_count;
    squares += chunk.variance * chunk_count + distance * distance * (count * chunk_count / total);
    mean += distance * (chunk_count / total);
    count = total;
  }
  const float shift = static_cast<float>(mean);
  return {shift, mean - static_cast<double>(shift), squares / count};
}

class LayerStatistics {
 public:
  LayerStatistics(size_t cols, const LayerNormOptions& options)
      : cols_(cols),
        eps_(static_cast<double>(options.eps)),
        single_pass_(options.variance == VarianceForm::kSinglePass) {}

  // `first` and `second` are read once each, in this order (chunk by chunk in the single-pass form); `redo` is read
  // again where the row needs scaling. All three give the same row.
  template <class First, class Second, class RedoSource>
  HWY_INLINE LayerFactors Factors(const First& first, const Second& second, const RedoSource& redo) const {
    const Moments moments = MomentsOf(first, second);
    const double square = moments.variance + eps_;
    // Below 2^-118 squares in f32 may have lost bits; NaN and Inf fail the test too.
    if (HWY_UNLIKELY(!(square >= 0x1p-118 && square <= 0x1p250))) return Redo(redo);
    return {moments.shift, static_cast<float>(moments.delta), static_cast<float>(1.0 / std::sqrt(square)), 1.0f};
  }

 private:
  template <class First, class Second>
  HWY_INLINE Moments MomentsOf(const First& first, const Second& second) const {
    return single_pass_ ? SinglePassMoments(first, second, cols_) : TwoPassMoments(first, second, 0, cols_);
  }

  template <class Source>
  HWY_NOINLINE LayerFactors Redo(Source source) const {
    const uint32_t max_abs = MaxAbsBits(source, cols_);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (max_abs >= kInfBits) return {nan, nan, nan, 1.0f};
    const Scaled<Source> scaled{source, ScaleFor(max_abs)};
    const Moments moments = MomentsOf(scaled, scaled);
    const double wide_scale = static_cast<double>(scaled.scale);
    const double square = moments.variance + eps_ * wide_scale * wide_scale;
    return {moments.shift, static_cast<float>(moments.delta), InvStddev(square), scaled.scale};
  }

  size_t cols_;
  double eps_;
  bool single_pass_;
};

// out = x_hat * gain + bias with one FMA.
template <class X, class Gain, class Bias, typename Out>
HWY_INLINE void ApplyLayer(const X* x, const Gain& gain, const Bias& bias, Out* out, size_t cols, LayerFactors row) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const V shift = hn::Set(df, row.shift);
  const V delta = hn::Set(df, row.delta);
  const V inv_stddev = hn::Set(df, row.inv_stddev);
  const auto func = [&](V v, V g, V b) HWY_ATTR {
    return hn::MulAdd(hn::Mul(hn::Sub(hn::Sub(v, shift), delta), inv_stddev), g, b);
  };
  if (HWY_UNLIKELY(row.scale != 1.0f)) {
    MapRow(df, cols, out, func, Scaled<const X*>{x, row.scale}, gain, bias);
  } else {
    MapRow(df, cols, out, func, x, gain, bias);
  }
}

// Adding -0 where there is no bias changes no bit.
template <class X, typename Affine, typename Out>
HWY_INLINE void ApplyLayer(const X* x, const Affine* gain, const Affine* bias, Out* out, size_t cols,
                           LayerFactors factors) {
  const Nullable<Affine> bias_source{bias, -0.0f};
  if (gain != nullptr) {
    ApplyLayer(x, gain, bias_source, out, cols, factors);
  } else {
    ApplyLayer(x, Broadcast{1.0f}, bias_source, out, cols, factors);
  }
}

template <typename X, typename Out>
HWY_INLINE void ApplyLayerRow(const X* x, const LayerNormCall<X, Out>& call, Out* out, LayerFactors factors) {
  if (call.gain_bf16 != nullptr || call.bias_bf16 != nullptr) {
    ApplyLayer(x, call.gain_bf16, call.bias_bf16, out, call.cols, factors);
  } else {
    ApplyLayer(x, call.gain_f32, call.bias_f32, out, call.cols, factors);
  }
}

template <typename X, typename Out>
HWY_INLINE void LayerNormRows(const LayerNormCall<X, Out>& call) {
  const LayerStatistics statistics(call.cols, *call.options);
  for (size_t row = 0; row < call.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    ApplyLayerRow(x, call, call.out + row * call.out_stride, statistics.Factors(x, x, x));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_LAYER_NORM_INL_H_
