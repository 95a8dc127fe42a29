// RMSNorm of rows: statistics, then one scaling sweep over data still in cache. The sweeps over one row are compiled
// once, in rms_norm_rows.cc; residual sums and compositions call them.

#include "kernels/rms_norm.h"

#if defined(PRENORM_KERNELS_RMS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RMS_NORM_INL_H_
#undef PRENORM_KERNELS_RMS_NORM_INL_H_
#else
#define PRENORM_KERNELS_RMS_NORM_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/affine-inl.h"
#include "kernels/convert-inl.h"
#include "kernels/row_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What rows are multiplied by, and whether they are rounded to bf16 before. Without a gain neither the gain form nor
// the cast matters.
struct RmsGain {
  template <typename X, typename Out>
  explicit RmsGain(const RmsNormCall<X, Out>& call)
      : gain(call.gain_f32, call.gain_bf16, 1.0f, OnePlus(*call.options) ? 1.0f : -0.0f, call.cols),
        cols(call.cols),
        round_before(std::is_same_v<Out, bf16> && call.options->cast == CastMode::kLlama && gain.present()) {}

  // The same factor for all columns.
  RmsGain(float factor, size_t count)
      : gain(nullptr, nullptr, factor, -0.0f, count), cols(count), round_before(false) {}

  static bool OnePlus(const RmsNormOptions& options) {
    return options.gain_form == GainForm::kOnePlusGain || options.cast == CastMode::kGemma;
  }

  AffineRow gain;
  size_t cols;
  bool round_before;
};

// out = x_hat * gain for one row. *Piece: of `cols` neighbouring columns, with out = (x * inv_rms) * gain.
#define PRENORM_NORM_UNIT(NAME, X, OUT)                                   \
  void ScaleRow(const X* x, RmsGain& gain, OUT* out, RmsFactors factors); \
  void ScalePiece(const X* x, const float* gain, OUT* out, size_t cols, float inv_rms);
#include "kernels/variants.inc"

// ---- The sweeps; source(x) is what is read instead of x

template <bool kStream, class Source, typename Out>
HWY_INLINE void ScaleColumns(const Source& x, const float* gain, Out* out, size_t cols, float inv_rms) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const V inverse = hn::Set(df, inv_rms);
  MapRow<kStream>(
      df, cols, out, [&](V v, V g) HWY_ATTR { return hn::Mul(hn::Mul(v, inverse), g); }, x, gain);
}

// x_hat of a piece of a row of extreme magnitude, or rounded before the gain.
template <typename X>
HWY_NOINLINE void NormalizePiece(const X* x, float* x_hat, size_t cols, RmsFactors factors, bool round) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const V inv_rms = hn::Set(df, factors.inv_rms);
  const V scale = hn::Set(df, factors.scale);
  MapRow(
      df, cols, x_hat, [&](V v) HWY_ATTR { return hn::Mul(hn::Mul(v, scale), inv_rms); }, x);
  if (round) {
    MapRow(
        df, cols, x_hat, [&](V v) HWY_ATTR { return RoundToBf16(df, v); }, static_cast<const float*>(x_hat));
  }
}

// piece(x, gain, out, cols, inv_rms) for the pieces of a row.
template <typename X, typename Out, class Piece>
HWY_INLINE void ScalePieces(const X* x, RmsGain& gain, Out* out, RmsFactors factors, const Piece& piece) {
  if (HWY_UNLIKELY(gain.round_before || factors.scale != 1.0f)) {
    HWY_ALIGN float x_hat[kChunk];
    for (size_t begin = 0; begin < gain.cols; begin += kChunk) {
      const size_t count = std::min(kChunk, gain.cols - begin);
      NormalizePiece(x + begin, x_hat, count, factors, gain.round_before);
      ScalePiece(x_hat, gain.gain.At(begin), out + begin, count, 1.0f);
    }
    return;
  }
  const size_t step = gain.gain.step();
  for (size_t begin = 0; begin < gain.cols; begin += step) {
    piece(x + begin, gain.gain.At(begin), out + begin, std::min(step, gain.cols - begin), factors.inv_rms);
  }
}

// `count` short rows from x and out on, with the same arithmetic: a piece of the gain stays in registers for all.
template <typename X, typename Out>
HWY_INLINE void ScaleGroup(const RmsNormCall<X, Out>& call, const X* x, const float* gain, Out* out, size_t count,
                           const RmsFactors* factors) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + 2 * N <= call.cols; i += 2 * N) {
    const V g0 = hn::LoadU(df, gain + i);
    const V g1 = hn::LoadU(df, gain + i + N);
    for (size_t k = 0; k < count; ++k) {
      const V inv_rms = hn::Set(df, factors[k].inv_rms);
      const X* row = x + k * call.x_stride;
      const V y0 = hn::Mul(hn::Mul(LoadF32(df, row, i), inv_rms), g0);
      const V y1 = hn::Mul(hn::Mul(LoadF32(df, row, i + N), inv_rms), g1);
      StorePairF32(y0, y1, df, out + k * call.out_stride, i);
    }
  }
  for (; i < call.cols; i += N) {
    const size_t n = HWY_MIN(N, call.cols - i);
    const V g = hn::LoadN(df, gain + i, n);
    for (size_t k = 0; k < count; ++k) {
      const V x_hat = hn::Mul(LoadNF32(df, x + k * call.x_stride, i, n), hn::Set(df, factors[k].inv_rms));
      StoreNF32(hn::Mul(x_hat, g), df, out + k * call.out_stride, i, n);
    }
  }
}

// ---- All rows of a call

template <typename X, typename Out>
HWY_INLINE void RmsNormShortRows(const RmsNormCall<X, Out>& call, const RmsStatistics& statistics, RmsGain& gain) {
  RmsFactors factors[kRowGroup];
  for (size_t row = 0; row < call.rows; row += kRowGroup) {
    const size_t count = std::min(kRowGroup, call.rows - row);
    const X* x = call.x + row * call.x_stride;
    Out* out = call.out + row * call.out_stride;
    statistics.GroupFactors(x, call.x_stride, count, factors);
    bool plain = !gain.round_before;
    for (size_t k = 0; k < count; ++k) plain = plain && factors[k].scale == 1.0f;
    if (HWY_LIKELY(plain)) {
      ScaleGroup(call, x, gain.gain.At(0), out, count, factors);
    } else {
      for (size_t k = 0; k < count; ++k) ScaleRow(x + k * call.x_stride, gain, out + k * call.out_stride, factors[k]);
    }
  }
}

// The next row comes in while this one goes out; without, reading and writing would take turns.
template <bool kStream, typename X, typename Out>
HWY_NOINLINE void RmsNormFetching(const RmsNormCall<X, Out>& call, const RmsStatistics& statistics, RmsGain& gain) {
  const auto piece = [&](const X* x, const float* g, Out* out, size_t cols, float inv_rms) HWY_ATTR {
    ScaleColumns<kStream>(Ahead<X>{x, call.x_stride}, g, out, cols, inv_rms);
  };
  for (size_t row = 0; row < call.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    ScalePieces(x, gain, call.out + row * call.out_stride, statistics.Factors(x), piece);
  }
}

template <typename X, typename Out>
HWY_INLINE void RmsNormRows(const RmsNormCall<X, Out>& call) {
  const RmsStatistics statistics(call.cols, *call.options);
  RmsGain gain(call);
  if (MayStream(call.x, call.out, call.out_stride, call.rows, call.cols)) {
    RmsNormFetching<true>(call, statistics, gain);
    hwy::FlushStream();
  } else if (call.rows > 1 && call.cols <= kFewCols) {
    RmsNormShortRows(call, statistics, gain);
  } else if (MayFetch(call.x, call.rows, call.cols)) {
    RmsNormFetching<false>(call, statistics, gain);
  } else {
    for (size_t row = 0; row < call.rows; ++row) {
      const X* x = call.x + row * call.x_stride;
      ScaleRow(x, gain, call.out + row * call.out_stride, statistics.Factors(x));
    }
  }
}

template <typename X>
HWY_INLINE void InvRmsRows(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                           const RmsNormOptions& options) {
  const RmsStatistics statistics(cols, options);
  for (size_t row = 0; row < rows; ++row) {
    const RmsFactors factors = statistics.Factors(x + row * x_stride);
    inv_rms[row] = static_cast<float>(static_cast<double>(factors.inv_rms) * static_cast<double>(factors.scale));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RMS_NORM_INL_H_
