// LayerNorm of rows: statistics, then one sweep that applies them. The sweep over one row is compiled once, in
// layer_norm_rows.cc; residual sums call it.

#include "kernels/layer_norm.h"

#if defined(PRENORM_KERNELS_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_LAYER_NORM_INL_H_
#undef PRENORM_KERNELS_LAYER_NORM_INL_H_
#else
#define PRENORM_KERNELS_LAYER_NORM_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/affine-inl.h"
#include "kernels/convert-inl.h"
#include "kernels/row_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct LayerAffine {
  // Adding -0 where there is no bias changes no bit.
  template <typename X, typename Out>
  explicit LayerAffine(const LayerNormCall<X, Out>& call)
      : gain(call.gain_f32, call.gain_bf16, 1.0f, -0.0f, call.cols),
        bias(call.bias_f32, call.bias_bf16, -0.0f, -0.0f, call.cols),
        cols(call.cols) {}

  AffineRow gain;
  AffineRow bias;
  size_t cols;
};

// out = x_hat * gain + bias for one row. *Piece: of `cols` neighbouring columns, whatever the scale of the factors.
#define PRENORM_NORM_UNIT(NAME, X, OUT)                                                         \
  void ApplyLayerRow(const X* x, LayerAffine& affine, OUT* out, const LayerFactors& factors);   \
  void ApplyLayerPiece(const X* x, const float* gain, const float* bias, OUT* out, size_t cols, \
                       const LayerFactors& factors);
#include "kernels/variants.inc"

template <bool kStream, class Source, class Gain, class Bias, typename Out>
HWY_INLINE void ApplyLayerColumns(const Source& x, const Gain& gain, const Bias& bias, Out* out, size_t cols,
                                  const LayerFactors& factors) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const V shift = hn::Set(df, factors.shift);
  const V offset = hn::Set(df, factors.offset);
  const V inv_stddev = hn::Set(df, factors.inv_stddev);
  const auto func = [&](V v, V g, V b)
                        HWY_ATTR { return hn::MulAdd(hn::MulAdd(hn::Sub(v, shift), inv_stddev, offset), g, b); };
  MapRow<kStream>(df, cols, out, func, x, gain, bias);
}

// piece(x, gain, bias, out, cols, factors) for the pieces of a row.
template <typename X, typename Out, class Piece>
HWY_INLINE void ApplyLayerPieces(const X* x, LayerAffine& affine, Out* out, const LayerFactors& factors,
                                 const Piece& piece) {
  if (HWY_UNLIKELY(factors.scale != 1.0f)) {
    HWY_ALIGN float scaled[kChunk];
    const StoredPieces<X> row(x);
    for (size_t begin = 0; begin < affine.cols; begin += kChunk) {
      const size_t count = std::min(kChunk, affine.cols - begin);
      const float* x_piece = ScaledPieces(row, factors.scale).Piece(begin, count, scaled);
      ApplyLayerPiece(x_piece, affine.gain.At(begin), affine.bias.At(begin), out + begin, count, factors);
    }
    return;
  }
  const size_t step = std::min(affine.gain.step(), affine.bias.step());
  for (size_t begin = 0; begin < affine.cols; begin += step) {
    piece(x + begin, affine.gain.At(begin), affine.bias.At(begin), out + begin, std::min(step, affine.cols - begin),
          factors);
  }
}

// The next row comes in while this one goes out; without, reading and writing would take turns.
template <bool kStream, typename X, typename Out>
HWY_NOINLINE void LayerNormFetching(const LayerNormCall<X, Out>& call, const LayerStatistics& statistics,
                                    LayerAffine& affine) {
  const auto piece = [&](const X* x, const float* gain, const float* bias, Out* out, size_t cols,
                         const LayerFactors& factors) HWY_ATTR {
    ApplyLayerColumns<kStream>(Ahead<X>{x, call.x_stride}, gain, bias, out, cols, factors);
  };
  for (size_t row = 0; row < call.rows; ++row) {
    const X* x = call.x + row * call.x_stride;
    ApplyLayerPieces(x, affine, call.out + row * call.out_stride, statistics.Factors(x), piece);
  }
}

template <typename X, typename Out>
HWY_INLINE void LayerNormRows(const LayerNormCall<X, Out>& call) {
  const LayerStatistics statistics(call.cols, *call.options);
  LayerAffine affine(call);
  if (MayStream(call.x, call.out, call.out_stride, call.rows, call.cols)) {
    LayerNormFetching<true>(call, statistics, affine);
    hwy::FlushStream();
  } else if (MayFetch(call.x, call.rows, call.cols)) {
    LayerNormFetching<false>(call, statistics, affine);
  } else {
    for (size_t row = 0; row < call.rows; ++row) {
      const X* x = call.x + row * call.x_stride;
      ApplyLayerRow(x, affine, call.out + row * call.out_stride, statistics.Factors(x));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_LAYER_NORM_INL_H_
