// RMSNorm of rows: statistics with range handling, then one scaling sweep over data still in cache.

#include "kernels/rms_norm.h"

#if defined(PRENORM_KERNELS_RMS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RMS_NORM_INL_H_
#undef PRENORM_KERNELS_RMS_NORM_INL_H_
#else
#define PRENORM_KERNELS_RMS_NORM_INL_H_
#endif

#include <algorithm>
#include <bit>
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

// The factors of a row: out = gain * ((x * scale) * inv_rms). scale is 1 but for rows of extreme magnitude.
struct RmsFactors {
  float inv_rms;
  float scale;
};

// Rows whose statistics are finished together: short rows are many, and one vector square root serves 8 of them.
inline constexpr size_t kRowGroup = 8;
inline constexpr size_t kGroupedCols = 512;

// Mean squares in which f32 squares may have lost bits to underflow (each loses at most 2^-150), and the range in which
// inv_rms is a normal f32 whatever the accumulation.
inline constexpr double kLanesLow = 0x1p-118;
inline constexpr double kExactLow = 0x1p-250;
inline constexpr double kHigh = 0x1p250;

class RmsStatistics {
 public:
  RmsStatistics(size_t cols, const RmsNormOptions& options)
      : cols_(cols),
        inv_cols_(1.0 / static_cast<double>(cols)),
        eps_(static_cast<double>(options.eps)),
        outside_(options.eps_placement == EpsPlacement::kOutsideRoot),
        exact_(options.accumulation == Accumulation::kExact) {}

  // Factors of `count` <= kRowGroup rows; source_of(k) is the source of row k, redo_of(k) the one to read a second time
  // (they differ where reading the first writes something).
  template <class SourceOf, class RedoOf>
  HWY_INLINE void Factors(size_t count, const SourceOf& source_of, const RedoOf& redo_of, RmsFactors* factors) const {
    HWY_ALIGN double mean_squares[kRowGroup] = {};
    HWY_ALIGN double roots[kRowGroup];
    HWY_ALIGN double inverses[kRowGroup];
    for (size_t k = 0; k < count; ++k) mean_squares[k] = SquaresOf(source_of(k)) * inv_cols_;
    if (count == 1) {
      Roots(hn::CappedTag<double, 1>(), 1, mean_squares, roots, inverses);
    } else {
      Roots(SpineTag(), count, mean_squares, roots, inverses);
    }
    for (size_t k = 0; k < count; ++k) {
      factors[k] = {static_cast<float>(inverses[k]), 1.0f};
      if (HWY_UNLIKELY(!InRange(mean_squares[k]))) factors[k] = Redo(redo_of(k));
    }
  }

 private:
  template <class Source>
  HWY_INLINE double SquaresOf(const Source& source) const {
    return exact_ ? SumOfSquares<F64Lanes>(source, cols_) : SumOfSquares<F32Lanes>(source, cols_);
  }

  // False for NaN and Inf too. A mean square of few bits does no harm where eps dwarfs it.
  HWY_INLINE bool InRange(double mean_square) const {
    if (!(mean_square <= kHigh)) return false;
    const double low = exact_ ? kExactLow : kLanesLow;
    return outside_ ? mean_square >= low || eps_ >= 0x1p-45 : mean_square + eps_ >= low;
  }

  template <class DD>
  HWY_INLINE void Roots(DD dd, size_t count, const double* mean_squares, double* roots, double* inverses) const {
    const auto eps = hn::Set(dd, eps_);
    for (size_t k = 0; k < count; k += hn::Lanes(dd)) {
      const auto mean_square = hn::Load(dd, mean_squares + k);
      const auto root = outside_ ? hn::Add(hn::Sqrt(mean_square), eps) : hn::Sqrt(hn::Add(mean_square, eps));
      hn::Store(root, dd, roots + k);
      hn::Store(hn::Div(hn::Set(dd, 1.0), root), dd, inverses + k);
    }
  }

  // Statistics of the row scaled by an exact power of two, so that its largest magnitude is near 1.
  template <class Source>
  HWY_NOINLINE RmsFactors Redo(Source source) const {
    const uint32_t max_abs = MaxAbsBits(source, cols_);
    if (max_abs > kInfBits) return {std::numeric_limits<float>::quiet_NaN(), 1.0f};
    if (max_abs == kInfBits) return {0.0f, 1.0f};
    const float scale = ScaleFor(max_abs);
    const double mean_square = SquaresOf(Scaled<Source>{source, scale}) * inv_cols_;
    const double wide_scale = static_cast<double>(scale);
    const double root = outside_ ? std::sqrt(mean_square) + eps_ * wide_scale
                                 : std::sqrt(mean_square + eps_ * wide_scale * wide_scale);
    return {static_cast<float>(1.0 / root), scale};
  }

  size_t cols_;
  double inv_cols_;
  double eps_;
  bool outside_;
  bool exact_;
};

// How a row is written: which of the loops below, all of them one MapRow.
struct RmsScaling {
  explicit RmsScaling(const RmsNormOptions& options)
      : one_plus_gain(options.gain_form == GainForm::kOnePlusGain || options.cast == CastMode::kGemma),
        round_before_gain(options.cast == CastMode::kLlama) {}

  template <class X, class Gain, typename Out>
  HWY_INLINE void Apply(const X* x, const Gain& gain, Out* out, size_t cols, RmsFactors factors) const {
    const RowTag df;
    using V = hn::Vec<RowTag>;
    const V inv_rms = hn::Set(df, factors.inv_rms);
    if (HWY_UNLIKELY(round_before_gain || factors.scale != 1.0f)) {
      ApplyGeneral(x, gain, out, cols, factors);
    } else if (one_plus_gain) {
      const V one = hn::Set(df, 1.0f);
      MapRow(df, cols, out, [&](V v, V g) HWY_ATTR { return hn::Mul(hn::Mul(v, inv_rms), hn::Add(one, g)); }, x, gain);
    } else {
      MapRow(df, cols, out, [&](V v, V g) HWY_ATTR { return hn::Mul(hn::Mul(v, inv_rms), g); }, x, gain);
    }
  }

  // Without a gain neither the gain form nor the cast matters.
  template <typename X, typename Out>
  HWY_INLINE void ApplyRow(const X* x, const RmsNormCall<X, Out>& call, Out* out, RmsFactors factors) const {
    if (call.gain_f32 != nullptr) return Apply(x, call.gain_f32, out, call.cols, factors);
    if (call.gain_bf16 != nullptr) return Apply(x, call.gain_bf16, out, call.cols, factors);
    RmsScaling plain = *this;
    plain.one_plus_gain = false;
    plain.round_before_gain = false;
    plain.Apply(x, Broadcast{1.0f}, out, call.cols, factors);
  }

  bool one_plus_gain;
  bool round_before_gain;

 private:
  template <class X, class Gain, typename Out>
  HWY_NOINLINE void ApplyGeneral(const X* x, Gain gain, Out* out, size_t cols, RmsFactors factors) const {
    const RowTag df;
    using V = hn::Vec<RowTag>;
    const V inv_rms = hn::Set(df, factors.inv_rms);
    const V scale = hn::Set(df, factors.scale);
    // Adding -0 changes no bit.
    const V gain_shift = hn::Set(df, one_plus_gain ? 1.0f : -0.0f);
    const bool round = round_before_gain;
    const auto func = [&](V v, V g) HWY_ATTR {
      V y = hn::Mul(hn::Mul(v, scale), inv_rms);
      if (round) y = RoundLike(df, y, out);
      return hn::Mul(y, hn::Add(gain_shift, g));
    };
    MapRow(df, cols, out, func, x, gain);
  }
};

template <typename X, typename Out>
HWY_INLINE void RmsNormRows(const RmsNormCall<X, Out>& call) {
  const size_t cols = call.cols;
  const RmsStatistics statistics(cols, *call.options);
  const RmsScaling scaling(*call.options);
  const size_t group = cols <= kGroupedCols ? kRowGroup : 1;
  RmsFactors factors[kRowGroup];
  for (size_t row = 0; row < call.rows; row += group) {
    const size_t count = std::min(group, call.rows - row);
    const X* x = call.x + row * call.x_stride;
    const auto source_of = [&](size_t k) HWY_ATTR { return x + k * call.x_stride; };
    statistics.Factors(count, source_of, source_of, factors);
    for (size_t k = 0; k < count; ++k) {
      scaling.ApplyRow(source_of(k), call, call.out + (row + k) * call.out_stride, factors[k]);
    }
  }
}

template <typename X>
HWY_INLINE void InvRmsRows(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                           const RmsNormOptions& options) {
  const RmsStatistics statistics(cols, options);
  RmsFactors factors = {};
  for (size_t row = 0; row < rows; ++row) {
    const auto source_of = [&](size_t) HWY_ATTR { return x + row * x_stride; };
    statistics.Factors(1, source_of, source_of, &factors);
    inv_rms[row] = static_cast<float>(static_cast<double>(factors.inv_rms) * static_cast<double>(factors.scale));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RMS_NORM_INL_H_
