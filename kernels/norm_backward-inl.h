// Gradients of RMSNorm, LayerNorm and BatchNorm-train. RMSNorm is LayerNorm whose mean is 0 and whose first rank-1 term
// (the mean of the incoming gradient) is left out.

#include "kernels/norm_backward.h"

#if defined(PRENORM_KERNELS_NORM_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_NORM_BACKWARD_INL_H_
#undef PRENORM_KERNELS_NORM_BACKWARD_INL_H_
#else
#define PRENORM_KERNELS_NORM_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/channel_statistics-inl.h"
#include "kernels/row_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// a * b, each a source.
template <class A, class B>
struct Product {
  A a;
  B b;
};
template <class DF, class A, class B>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Product<A, B>& s, size_t i) {
  return hn::Mul(LoadF32(df, s.a, i), LoadF32(df, s.b, i));
}
template <class DF, class A, class B>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Product<A, B>& s, size_t i, size_t n) {
  return hn::Mul(LoadNF32(df, s.a, i, n), LoadNF32(df, s.b, i, n));
}

HWY_INLINE RowVec Normalize(RowVec x, RowVec scale, RowVec shift, RowVec offset, RowVec inv_stddev) {
  return hn::MulAdd(hn::Sub(hn::Mul(x, scale), shift), inv_stddev, offset);
}

// x_hat of a row.
struct Normalized {
  const float* x;
  LayerFactors f;
};
template <class DF>
HWY_INLINE hn::Vec<DF> NormalizeAll(DF df, hn::Vec<DF> x, const LayerFactors& f) {
  return Normalize(x, hn::Set(df, f.scale), hn::Set(df, f.shift), hn::Set(df, f.offset), hn::Set(df, f.inv_stddev));
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Normalized& s, size_t i) {
  return NormalizeAll(df, LoadF32(df, s.x, i), s.f);
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Normalized& s, size_t i, size_t n) {
  return hn::IfThenElseZero(hn::FirstN(df, n), NormalizeAll(df, LoadNF32(df, s.x, i, n), s.f));
}

// r = first * second. A row at either end of the range has an r that f32 cannot hold; halves of it, applied one after
// the other, neither overflow nor underflow unless the gradient does.
struct SplitInverse {
  float first;
  float second;
};
HWY_INLINE SplitInverse Split(double r) {
  if (HWY_LIKELY(r >= 0x1p-100 && r <= 0x1p100) || !std::isfinite(r)) return {static_cast<float>(r), 1.0f};
  const double first = std::ldexp(1.0, std::ilogb(r) / 2);
  return {static_cast<float>(first), static_cast<float>(r / first)};
}

// 1 / sqrt(variance + eps) of a row from its factors. InvStddev() limits that of a row without variance, where eps
// alone is left.
HWY_INLINE double InverseOf(const LayerFactors& factors, float eps) {
  if (HWY_UNLIKELY(factors.inv_stddev == std::numeric_limits<float>::max())) {
    return 1.0 / std::sqrt(static_cast<double>(eps));
  }
  return static_cast<double>(factors.inv_stddev) * static_cast<double>(factors.scale);
}

// What dx of a row needs: dx = ((g - mean) - x_hat * mean_product) * inverse, with g = gain * dy.
struct BackwardRow {
  LayerFactors factors;
  float mean;
  float mean_product;
  SplitInverse inverse;
};

HWY_INLINE LayerFactors ForwardFactors(const RowsBackward& call, const float* x) {
  if (call.subtract_mean) {
    LayerNormOptions options;
    options.eps = call.eps;
    return LayerStatistics(call.cols, options).Factors(x);
  }
  RmsNormOptions options;
  options.eps = call.eps;
  const RmsFactors factors = RmsStatistics(call.cols, options).Factors(x);
  return {0.0f, -0.0f, factors.inv_rms, factors.scale};
}

HWY_INLINE BackwardRow BackwardOf(const RowsBackward& call, const float* x, const float* dy) {
  const double count = static_cast<double>(call.cols);
  const Nullable<float> gain{call.gain, 1.0f};
  const Product<const float*, Nullable<float>> g{dy, gain};
  BackwardRow row{ForwardFactors(call, x), 0.0f, 0.0f, {}};
  row.inverse = Split(InverseOf(row.factors, call.eps));
  const RowSums sums = SumAndProducts(g, Normalized{x, row.factors}, call.cols);
  if (call.subtract_mean) row.mean = static_cast<float>(sums.sum / count);
  row.mean_product = static_cast<float>(sums.products / count);
  return row;
}

// dx of a vector of a row.
HWY_INLINE RowVec Gradient(RowVec x_hat, RowVec dy, RowVec gain, const BackwardRow& row) {
  const RowTag df;
  const RowVec g = hn::Sub(hn::Mul(dy, gain), hn::Set(df, row.mean));
  const RowVec t = hn::NegMulAdd(x_hat, hn::Set(df, row.mean_product), g);
  return hn::Mul(hn::Mul(t, hn::Set(df, row.inverse.first)), hn::Set(df, row.inverse.second));
}

// dx of one plane of a channel. Meanwhile what lies x_ahead and dy_ahead elements further on is fetched.
HWY_INLINE void StoreGradient(const float* x, const float* dy, const Nullable<float>& gain, float* dx, size_t cols,
                              const BackwardRow& row, size_t x_ahead, size_t dy_ahead) {
  const auto func = [&](RowVec v, RowVec d, RowVec g)
                        HWY_ATTR { return Gradient(NormalizeAll(RowTag(), v, row.factors), d, g, row); };
  MapRow(RowTag(), cols, dx, func, Ahead<float>{x, x_ahead}, Ahead<float>{dy, dy_ahead}, gain);
}

// dx of a row, which may replace x or dy; dy is added to sums and dy * x_hat to products ([cols], each may be null).
// The next row is fetched meanwhile.
template <bool kSums, bool kProducts>
HWY_INLINE void StoreRowGradient(const RowsBackward& call, size_t index, const BackwardRow& row, float* sums,
                                 float* products) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  const float* x = call.x + index * call.x_stride;
  const float* dy = call.dy + index * call.dy_stride;
  float* dx = call.dx + index * call.dx_stride;
  const Nullable<float> gain{call.gain, 1.0f};
  const BackwardRow local = row;  // dx could alias what `row` refers to, as far as the compiler knows.
  const auto visit = [&](const auto& load, const auto& store, size_t col) HWY_ATTR {
    const RowVec d = load(df, dy, col);
    const RowVec x_hat = NormalizeAll(df, load(df, x, col), local.factors);
    if constexpr (kSums) store(hn::Add(load(df, sums, col), d), sums + col);
    if constexpr (kProducts) store(hn::MulAdd(d, x_hat, load(df, products, col)), products + col);
    store(Gradient(x_hat, d, load(df, gain, col), local), dx + col);
  };
  const auto store_whole = [](RowVec v, float* p) HWY_ATTR { hn::StoreU(v, RowTag(), p); };
  size_t col = 0;
  for (; col + N <= call.cols; col += N) {
    hwy::Prefetch(x + call.x_stride + col);
    hwy::Prefetch(dy + call.dy_stride + col);
    hwy::Prefetch(dx + call.dx_stride + col);
    visit(WholeVector(), store_whole, col);
  }
  if (const size_t n = call.cols - col; n != 0) {
    visit(
        FirstColumns{n}, [n](RowVec v, float* p) HWY_ATTR { hn::StoreN(v, RowTag(), p, n); }, col);
  }
}

// wide[c] += narrow[c].
HWY_INLINE void AddToWide(const float* narrow, size_t cols, double* wide) {
  for (size_t c = 0; c < cols; ++c) wide[c] += static_cast<double>(narrow[c]);
}

// A row after the other, while it is in L1: its statistics, dx, its share in the sums over rows. (All statistics of 16
// rows first, and dx by blocks of columns, with the sums in registers, takes 1.5 times as long at 768 columns and 1.3 at
// 4096; statistics of two or four rows together 1.2 and 1.4 times.) The sums are in f32 for 16 rows, then in f64.
template <bool kSums, bool kProducts>
HWY_INLINE void AllRowsBackward(const RowsBackward& call) {
  float* const sums = kSums ? call.run_sums : nullptr;
  float* const products = kProducts ? call.run_sums + (kSums ? call.cols : 0) : nullptr;
  for (size_t begin = 0; begin < call.rows; begin += kRunRows) {
    if constexpr (kSums || kProducts) std::fill_n(call.run_sums, (kSums + kProducts) * call.cols, 0.0f);
    for (size_t k = begin; k < std::min(call.rows, begin + kRunRows); ++k) {
      const BackwardRow row = BackwardOf(call, call.x + k * call.x_stride, call.dy + k * call.dy_stride);
      StoreRowGradient<kSums, kProducts>(call, k, row, sums, products);
    }
    if constexpr (kSums) AddToWide(sums, call.cols, call.dbias);
    if constexpr (kProducts) AddToWide(products, call.cols, call.dgain);
  }
}

HWY_INLINE void RowsBackwardUnit(const RowsBackward& call) {
  if (call.dbias != nullptr) {
    call.dgain != nullptr ? AllRowsBackward<true, true>(call) : AllRowsBackward<true, false>(call);
  } else {
    call.dgain != nullptr ? AllRowsBackward<false, true>(call) : AllRowsBackward<false, false>(call);
  }
}

// The factors of dx of a channel from its sums: mean of gain * dy, and so on.
HWY_INLINE BackwardRow ChannelRow(const LayerFactors& factors, float eps, float gain, double sum, double product,
                                  double count) {
  const double wide_gain = static_cast<double>(gain);
  return {factors, static_cast<float>(wide_gain * (sum / count)), static_cast<float>(wide_gain * (product / count)),
          Split(InverseOf(factors, eps))};
}

HWY_INLINE void MatrixBackward(const ChannelsBackward& call, size_t begin, size_t cols) {
  const RowTag df;
  const size_t rows = call.shape.samples * call.shape.space;
  const float* x = call.x + begin;
  const float* dy = call.dy + begin;
  GroupStatistics statistics[kPanel];
  ColumnGroupStatistics(x, call.x_stride, rows, cols, 1, static_cast<double>(call.eps), statistics);
  HWY_ALIGN float shift[kPanel], offset[kPanel], inv_stddev[kPanel], scale[kPanel];
  HWY_ALIGN float gain[kPanel], mean[kPanel], mean_product[kPanel], first[kPanel], second[kPanel];
  for (size_t c = 0; c < cols; ++c) {
    const LayerFactors& f = statistics[c].factors;
    shift[c] = f.shift, offset[c] = f.offset, inv_stddev[c] = f.inv_stddev, scale[c] = f.scale;
  }
  double sums[kPanel] = {};
  double products[kPanel] = {};
  const auto gradient = [&](const auto& load, size_t row, size_t col)
                            HWY_ATTR { return load(df, dy + row * call.dy_stride, col); };
  const auto x_hat = [&](const auto& load, size_t row, size_t col, RowVec) HWY_ATTR {
    return Normalize(load(df, x + row * call.x_stride, col), load(df, scale, col), load(df, shift, col),
                     load(df, offset, col), load(df, inv_stddev, col));
  };
  AddColumnSums(rows, cols, gradient, x_hat, sums, products);
  for (size_t c = 0; c < cols; ++c) {
    gain[c] = call.gain == nullptr ? 1.0f : call.gain[begin + c];
    const BackwardRow row =
        ChannelRow(statistics[c].factors, call.eps, gain[c], sums[c], products[c], static_cast<double>(rows));
    mean[c] = row.mean, mean_product[c] = row.mean_product;
    first[c] = row.inverse.first, second[c] = row.inverse.second;
    if (call.dgain != nullptr) call.dgain[begin + c] = static_cast<float>(products[c]);
    if (call.dbias != nullptr) call.dbias[begin + c] = static_cast<float>(sums[c]);
  }
  const auto func = [&](RowVec v, RowVec d, RowVec sc, RowVec sh, RowVec de, RowVec inv, RowVec g, RowVec m, RowVec mp,
                        RowVec r0, RowVec r1) HWY_ATTR {
    const RowVec t = hn::NegMulAdd(Normalize(v, sc, sh, de, inv), mp, hn::Sub(hn::Mul(d, g), m));
    return hn::Mul(hn::Mul(t, r0), r1);
  };
  for (size_t row = 0; row < rows; ++row) {
    MapRow(df, cols, call.dx + begin + row * call.dx_stride, func, x + row * call.x_stride, dy + row * call.dy_stride,
           scale, shift, offset, inv_stddev, gain, mean, mean_product, first, second);
  }
}

// Sums of dy and of dy * x_hat over the planes of a channel, 1024 elements at a time in one row.
HWY_INLINE void PlaneSums(const ChannelPlanes<float>& x, const ChannelPlanes<float>& dy, const LayerFactors& factors,
                          double* sum, double* product) {
  HWY_ALIGN float x_row[kChunk];
  HWY_ALIGN float dy_row[kChunk];
  const float* dy_source = dy_row;
  for (size_t begin = 0; begin < x.Size(); begin += kChunk) {
    const size_t count = std::min(kChunk, x.Size() - begin);
    x.Gather(begin, begin + count, 1.0f, x_row);
    dy.Gather(begin, begin + count, 1.0f, dy_row);
    const RowSums sums = SumAndProducts(dy_source, Normalized{x_row, factors}, count);
    *sum += sums.sum;
    *product += sums.products;
  }
}

HWY_INLINE void PlanesBackward(const ChannelsBackward& call, size_t channel) {
  const size_t samples = call.shape.samples;
  const size_t space = call.shape.space;
  const size_t offset = channel * space;
  const ChannelPlanes<float> x{call.x + offset, call.x_stride, samples, space};
  const ChannelPlanes<float> dy{call.dy + offset, call.dy_stride, samples, space};
  const GroupStatistics statistics = PlaneStatistics(x, static_cast<double>(call.eps));
  double sum = 0.0;
  double product = 0.0;
  PlaneSums(x, dy, statistics.factors, &sum, &product);
  if (call.dgain != nullptr) call.dgain[channel] = static_cast<float>(product);
  if (call.dbias != nullptr) call.dbias[channel] = static_cast<float>(sum);
  const float gain = call.gain == nullptr ? 1.0f : call.gain[channel];
  const BackwardRow row = ChannelRow(statistics.factors, call.eps, gain, sum, product, static_cast<double>(x.Size()));
  for (size_t sample = 0; sample < samples; ++sample) {
    StoreGradient(x.x + sample * call.x_stride, dy.x + sample * call.dy_stride, Nullable<float>{nullptr, gain},
                  call.dx + sample * call.dx_stride + offset, space, row, call.x_stride, call.dy_stride);
  }
}

HWY_INLINE void ChannelsBackwardUnit(const ChannelsBackward& call) {
  const size_t channels = call.shape.channels;
  if (call.shape.order == ChannelOrder::kChannelsLast || call.shape.space == 1) {
    for (size_t begin = 0; begin < channels; begin += kPanel) {
      MatrixBackward(call, begin, std::min(kPanel, channels - begin));
    }
  } else {
    for (size_t channel = 0; channel < channels; ++channel) PlanesBackward(call, channel);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_NORM_BACKWARD_INL_H_
