// Residual sum and norm of a row in one go: the sum is formed, a chunk at a time, in the visit that
// takes the statistics.

#include "kernels/residual_norm.h"

#if defined(PRENORM_KERNELS_RESIDUAL_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#undef PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#else
#define PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/layer_norm-inl.h"
#include "kernels/residual-inl.h"
#include "kernels/rms_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

// Much data, nothing in place: the sum is formed a second time from operands in cache rather than read back, so that it
// can be written past the caches as the result is. 16 instead of 24 bytes cross per f32.
template <typename X, typename Out>
HWY_INLINE bool MayStreamBoth(const ResidualRmsCall<X, Out>& call) {
  const RmsNormCall<X, Out>& norm = call.norm;
  return MayStream(call.x, norm.out, norm.out_stride, norm.rows, norm.cols) &&
         MayStream(call.x, call.sum, norm.x_stride, norm.rows, norm.cols) &&
         static_cast<const void*>(call.f) != static_cast<const void*>(norm.out) && call.f != call.sum;
}

template <typename X, typename Out>
HWY_NOINLINE void StreamResidualRmsNormRows(const ResidualRmsCall<X, Out>& call) {
  using V = hn::Vec<RowTag>;
  const RowTag df;
  const RmsNormCall<X, Out>& norm = call.norm;
  const RmsStatistics statistics(norm.cols, *norm.options);
  const bool round = call.residual->statistics == ResidualStatistics::kRoundedSum;
  RmsGain gain(norm);
  HWY_ALIGN float buffer[kChunk];
  for (size_t row = 0; row < norm.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    const X* f = call.f + row * call.f_stride;
    const ResidualPieces<X> formed = ResidualPieces<X>(*call.residual, x, f).Round(round);
    const ResidualPieces<X> stored = ResidualPieces<X>(*call.residual, x, f).Round(true);
    const RmsFactors factors = statistics.Factors(formed, stored);
    for (size_t begin = 0; begin < norm.cols; begin += kChunk) {
      const size_t count = std::min(kChunk, norm.cols - begin);
      const float* sum = stored.Piece(begin, count, buffer);
      // The next row comes in while this one goes out.
      const Fetching<X> copied{sum, x + call.x_stride + begin};
      const Fetching<X> scaled{sum, f + call.f_stride + begin};
      MapRow<true>(
          df, count, call.sum + row * norm.x_stride + begin, [](V v) HWY_ATTR { return v; }, copied);
      Out* out = norm.out + row * norm.out_stride + begin;
      if (HWY_UNLIKELY(gain.round_before || factors.scale != 1.0f)) {
        NormalizePiece(sum, buffer, count, factors, gain.round_before);
        ScalePiece(static_cast<const float*>(buffer), gain.gain.At(begin), out, count, 1.0f);
      } else {
        ScaleColumns<true>(scaled, gain.gain.At(begin), out, count, factors.inv_rms);
      }
    }
  }
  hwy::FlushStream();
}

template <typename X, typename Out>
HWY_INLINE void ResidualRmsNormRows(const ResidualRmsCall<X, Out>& call) {
  if (MayStreamBoth(call)) return StreamResidualRmsNormRows(call);
  const RmsNormCall<X, Out>& norm = call.norm;
  const RmsStatistics statistics(norm.cols, *norm.options);
  const bool round = call.residual->statistics == ResidualStatistics::kRoundedSum;
  RmsGain gain(norm);
  for (size_t row = 0; row < norm.rows; ++row) {
    X* sum = call.sum + row * norm.x_stride;
    const ResidualPieces<X> pieces =
        ResidualPieces<X>(*call.residual, call.x + row * call.x_stride, call.f + row * call.f_stride)
            .Round(round)
            .WriteTo(sum);
    const RmsFactors factors = statistics.Factors(pieces, StoredPieces<X>(sum));
    ScaleRow(static_cast<const X*>(sum), gain, norm.out + row * norm.out_stride, factors);
  }
}

template <typename X, typename Out>
HWY_INLINE void ResidualLayerNormRows(const ResidualLayerCall<X, Out>& call) {
  const LayerNormCall<X, Out>& norm = call.norm;
  const LayerStatistics statistics(norm.cols, *norm.options);
  const bool round = call.residual->statistics == ResidualStatistics::kRoundedSum;
  LayerAffine affine(norm);
  for (size_t row = 0; row < norm.rows; ++row) {
    X* sum = call.sum + row * norm.x_stride;
    // The first visit only reads: where the sum replaces an operand, that operand is needed once more.
    const ResidualPieces<X> first =
        ResidualPieces<X>(*call.residual, call.x + row * call.x_stride, call.f + row * call.f_stride).Round(round);
    const ResidualPieces<X> second = ResidualPieces<X>(first).WriteTo(sum);
    const bool exact = std::is_same_v<X, float> || round;
    const LayerFactors factors = statistics.Factors(first, second, StoredPieces<X>(sum), exact);
    ApplyLayerRow(static_cast<const X*>(sum), affine, norm.out + row * norm.out_stride, factors);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RESIDUAL_NORM_INL_H_
