// Statistics of rows with range handling: mean square for RMSNorm; corrected two-pass moments for LayerNorm.
//
// LayerNorm: pass 1 gives a rough mean m0; pass 2 sums d = x - m0 and d^2; the correction is delta = mean(d), the
// variance mean(d^2) - delta^2; applied is (x - m0) - delta. d is small and mostly exact however far the mean is
// from 0, so neither the rounding of the mean nor a cancellation between large squares reaches the result. Pass 1
// reads 64 elements; where their mean turns out to be more than half a standard deviation off, it is done again
// over the whole row.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "prenorm/norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_statistics.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/row_statistics-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace {

// ---- Sums over a row in memory, or in pieces of a chunk each: the same tree

template <typename X>
HWY_NOINLINE double SumOfSquares(const X* x, size_t cols) {
  return Accumulate<F32Lanes, Squares>(x, 0, cols);
}
template <typename X>
HWY_NOINLINE double ExactSumOfSquares(const X* x, size_t cols) {
  return Accumulate<F64Lanes, Squares>(x, 0, cols);
}
template <typename X>
HWY_NOINLINE double Sum(const X* x, size_t count) {
  return Accumulate<F32Lanes, Values>(x, 0, count);
}
template <typename X>
HWY_NOINLINE RowSums SumAndSquares(const X* x, float shift, size_t count) {
  return AccumulateBoth(Shifted<const X*>{x, shift}, SameSource(), 0, count);
}

// add(piece, count) for all pieces of a row in turn.
template <class Add>
HWY_INLINE void ForPieces(const RowPieces& row, size_t cols, const Add& add) {
  HWY_ALIGN float buffer[kChunk];
  for (size_t begin = 0; begin < cols; begin += kChunk) {
    const size_t count = std::min(kChunk, cols - begin);
    add(row.Piece(begin, count, buffer), count);
  }
}

template <class Lanes, class Term>
HWY_NOINLINE double SumPieces(const RowPieces& row, size_t cols) {
  HWY_ALIGN typename Lanes::T lanes[kVirtualLanes];
  HWY_ALIGN double spine[kSpine] = {};
  ForPieces(row, cols, [&](const float* x, size_t count) HWY_ATTR {
    FillChunk<Lanes, Term>(x, 0, count, lanes);
    FoldLanes(lanes, spine);
  });
  return FoldSpine([&](auto dd, size_t j) HWY_ATTR { return hn::LoadU(dd, spine + j); });
}

HWY_NOINLINE RowSums SumAndSquaresOfPieces(const RowPieces& row, float shift, size_t cols) {
  HWY_ALIGN float sum_lanes[kVirtualLanes];
  HWY_ALIGN float square_lanes[kVirtualLanes];
  HWY_ALIGN double sum_spine[kSpine] = {};
  HWY_ALIGN double square_spine[kSpine] = {};
  ForPieces(row, cols, [&](const float* x, size_t count) HWY_ATTR {
    FillChunkBoth(Shifted<const float*>{x, shift}, SameSource(), 0, count, sum_lanes, square_lanes);
    FoldLanes(sum_lanes, sum_spine);
    FoldLanes(square_lanes, square_spine);
  });
  return {FoldSpine([&](auto dd, size_t j) HWY_ATTR { return hn::LoadU(dd, sum_spine + j); }),
          FoldSpine([&](auto dd, size_t j) HWY_ATTR { return hn::LoadU(dd, square_spine + j); })};
}

// ---- Moments

// From the sums of the distances from `shift`. True divisions: count * c / count == c, so that a constant row has a
// variance of exactly 0.
Moments MomentsOf(const RowSums& sums, float shift, size_t count) {
  const double delta = sums.sum / static_cast<double>(count);
  // This order of arguments keeps a NaN.
  return {shift, delta, std::max(sums.products / static_cast<double>(count) - delta * delta, 0.0)};
}

float ShiftOf(double sum, size_t count) { return static_cast<float>(sum / static_cast<double>(count)); }

template <typename X>
Moments TwoPassMoments(const X* x, size_t count) {
  const float shift = ShiftOf(Sum(x, count), count);
  return MomentsOf(SumAndSquares(x, shift, count), shift, count);
}
Moments TwoPassMoments(const RowPieces& first, const RowPieces& second, size_t cols) {
  const float shift = ShiftOf(SumPieces<F32Lanes, Values>(first, cols), cols);
  return MomentsOf(SumAndSquaresOfPieces(second, shift, cols), shift, cols);
}

// Whether a shift was near enough to the mean: half a standard deviation costs the variance a quarter of a bit.
bool ShiftServed(const Moments& moments) { return moments.delta * moments.delta <= 0.25 * moments.variance; }

// Rows of fewer elements gain nothing from a sample.
inline constexpr size_t kSample = kVirtualLanes;
inline constexpr size_t kSampledCols = 2 * kSample;

// One visit where the mean of the first 64 elements is a shift that serves, as it is in rows whose elements come in no
// order; else a second and third with the mean itself. What is read decides, so the bits are the same everywhere.
template <typename X>
Moments SampledMoments(const X* x, size_t count) {
  if (count >= kSampledCols) {
    const float shift = MeanOf64(x);
    const Moments moments = MomentsOf(SumAndSquares(x, shift, count), shift, count);
    if (HWY_LIKELY(ShiftServed(moments))) return moments;
  }
  return TwoPassMoments(x, count);
}
Moments SampledMoments(const RowPieces& first, const RowPieces& second, const RowPieces& again, size_t cols) {
  if (cols < kSampledCols) return TwoPassMoments(first, second, cols);
  HWY_ALIGN float buffer[kSample];
  const float shift = MeanOf64(first.Piece(0, kSample, buffer));
  const Moments moments = MomentsOf(SumAndSquaresOfPieces(second, shift, cols), shift, cols);
  return HWY_LIKELY(ShiftServed(moments)) ? moments : TwoPassMoments(again, again, cols);
}

// One pass over memory: the moments of each chunk while it is in L1, merged as by Chan, Golub and LeVeque (1979).
HWY_NOINLINE Moments SinglePassMoments(const RowPieces& row, size_t cols) {
  double mean = 0.0;
  double squares = 0.0;
  double count = 0.0;
  ForPieces(row, cols, [&](const float* x, size_t piece) HWY_ATTR {
    const double more = static_cast<double>(piece);
    const Moments moments = TwoPassMoments(x, piece);
    const double distance = (static_cast<double>(moments.shift) - mean) + moments.delta;
    const double total = count + more;
    squares += moments.variance * more + distance * distance * (count * more / total);
    mean += distance * (more / total);
    count = total;
  });
  const float shift = static_cast<float>(mean);
  return {shift, mean - static_cast<double>(shift), squares / count};
}

}  // namespace

// ---- Pieces

const float* ScaledPieces::Piece(size_t begin, size_t count, float* buffer) const {
  const auto scale = hn::Set(RowTag(), scale_);
  const float* piece = row_.Piece(begin, count, buffer);
  MapRow(
      RowTag(), count, buffer, [&](hn::Vec<RowTag> v) HWY_ATTR { return hn::Mul(v, scale); }, piece);
  return buffer;
}

uint32_t MaxAbsBits(const RowPieces& row, size_t cols) {
  uint32_t max_abs = 0;
  ForPieces(row, cols, [&](const float* x, size_t count) HWY_ATTR { max_abs = std::max(max_abs, MaxAbsOf(x, count)); });
  return max_abs;
}

// ---- RMSNorm

// Mean squares in which f32 squares may have lost bits to underflow (each loses at most 2^-150), and the range in which
// inv_rms is a normal f32 whatever the accumulation.
inline constexpr double kLanesLow = 0x1p-118;
inline constexpr double kExactLow = 0x1p-250;
inline constexpr double kHigh = 0x1p250;

template <typename X>
HWY_INLINE double RmsStatistics::SquaresOf(const X* x) const {
  if (exact_) return ExactSumOfSquares(x, cols_);
  return cols_ <= kFewCols ? SumOfFewSquares(x, cols_) : SumOfSquares(x, cols_);
}

double RmsStatistics::SquaresOf(const RowPieces& row) const {
  if (exact_) return SumPieces<F64Lanes, Squares>(row, cols_);
  if (cols_ > kFewCols) return SumPieces<F32Lanes, Squares>(row, cols_);
  HWY_ALIGN float buffer[kFewCols];
  return SumOfFewSquares(row.Piece(0, cols_, buffer), cols_);
}

// False for NaN and Inf too. A mean square of few bits does no harm where eps dwarfs it.
bool RmsStatistics::InRange(double mean_square) const {
  if (!(mean_square <= kHigh)) return false;
  const double low = exact_ ? kExactLow : kLanesLow;
  return outside_ ? mean_square >= low || eps_ >= 0x1p-45 : mean_square + eps_ >= low;
}

RmsFactors RmsStatistics::FromMeanSquare(double mean_square) const {
  const double root = outside_ ? std::sqrt(mean_square) + eps_ : std::sqrt(mean_square + eps_);
  return {static_cast<float>(1.0 / root), 1.0f};
}

template <typename X>
HWY_INLINE RmsFactors RmsStatistics::FactorsOf(const X* x) const {
  const double mean_square = SquaresOf(x) * inv_cols_;
  return HWY_LIKELY(InRange(mean_square)) ? FromMeanSquare(mean_square) : Redo(StoredPieces<X>(x));
}

RmsFactors RmsStatistics::Factors(const float* x) const { return FactorsOf(x); }
RmsFactors RmsStatistics::Factors(const bf16* x) const { return FactorsOf(x); }
RmsFactors RmsStatistics::Factors(const RowPieces& row, const RowPieces& redo) const {
  const double mean_square = SquaresOf(row) * inv_cols_;
  return HWY_LIKELY(InRange(mean_square)) ? FromMeanSquare(mean_square) : Redo(redo);
}

template <typename X>
HWY_INLINE void RmsStatistics::GroupFactorsOf(const X* x, size_t stride, size_t count, RmsFactors* factors) const {
  HWY_ALIGN double mean_squares[kRowGroup] = {};
  HWY_ALIGN double inverses[kRowGroup];
  for (size_t k = 0; k < count; ++k) mean_squares[k] = SquaresOf(x + k * stride) * inv_cols_;
  const SpineTag dd;
  const auto eps = hn::Set(dd, eps_);
  for (size_t k = 0; k < count; k += hn::Lanes(dd)) {
    const auto mean_square = hn::Load(dd, mean_squares + k);
    const auto root = outside_ ? hn::Add(hn::Sqrt(mean_square), eps) : hn::Sqrt(hn::Add(mean_square, eps));
    hn::Store(hn::Div(hn::Set(dd, 1.0), root), dd, inverses + k);
  }
  for (size_t k = 0; k < count; ++k) {
    factors[k] = {static_cast<float>(inverses[k]), 1.0f};
    if (HWY_UNLIKELY(!InRange(mean_squares[k]))) factors[k] = Redo(StoredPieces<X>(x + k * stride));
  }
}

void RmsStatistics::GroupFactors(const float* x, size_t stride, size_t count, RmsFactors* factors) const {
  GroupFactorsOf(x, stride, count, factors);
}
void RmsStatistics::GroupFactors(const bf16* x, size_t stride, size_t count, RmsFactors* factors) const {
  GroupFactorsOf(x, stride, count, factors);
}

// Statistics of the row scaled by an exact power of two, so that its largest magnitude is near 1.
HWY_NOINLINE RmsFactors RmsStatistics::Redo(const RowPieces& row) const {
  const uint32_t max_abs = MaxAbsBits(row, cols_);
  if (max_abs > kInfBits) return {std::numeric_limits<float>::quiet_NaN(), 1.0f};
  if (max_abs == kInfBits) return {0.0f, 1.0f};
  const float scale = ScaleFor(max_abs);
  const double mean_square = SquaresOf(ScaledPieces(row, scale)) * inv_cols_;
  const double wide_scale = static_cast<double>(scale);
  const double root =
      outside_ ? std::sqrt(mean_square) + eps_ * wide_scale : std::sqrt(mean_square + eps_ * wide_scale * wide_scale);
  return {static_cast<float>(1.0 / root), scale};
}

// ---- LayerNorm

float InvStddev(double square) {
  const double inv_stddev = 1.0 / std::sqrt(square);
  const double max = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(square > 0.0 ? std::min(inv_stddev, max) : inv_stddev);
}

LayerFactors MakeFactors(float shift, double delta, float inv_stddev, float scale) {
  return {shift, static_cast<float>(-delta * static_cast<double>(inv_stddev)), inv_stddev, scale};
}

Moments RowMoments(const float* x, size_t count) { return SampledMoments(x, count); }
Moments RowMoments(const bf16* x, size_t count) { return SampledMoments(x, count); }

template <typename X>
HWY_INLINE LayerFactors LayerStatistics::FactorsOf(const X* x) const {
  const StoredPieces<X> row(x);
  return FromMoments(single_pass_ ? SinglePassMoments(row, cols_) : SampledMoments(x, cols_), row);
}

LayerFactors LayerStatistics::Factors(const float* x) const { return FactorsOf(x); }
LayerFactors LayerStatistics::Factors(const bf16* x) const { return FactorsOf(x); }
LayerFactors LayerStatistics::Factors(const RowPieces& first, const RowPieces& second, const RowPieces& stored,
                                      bool stored_is_exact) const {
  if (single_pass_) return FromMoments(SinglePassMoments(second, cols_), stored);
  if (!stored_is_exact) return FromMoments(TwoPassMoments(first, second, cols_), stored);
  return FromMoments(SampledMoments(first, second, stored, cols_), stored);
}

LayerFactors LayerStatistics::FromMoments(const Moments& moments, const RowPieces& redo) const {
  const double square = moments.variance + eps_;
  // Below 2^-118 squares in f32 may have lost bits; NaN and Inf fail the test too.
  if (HWY_UNLIKELY(!(square >= 0x1p-118 && square <= 0x1p250))) return Redo(redo);
  return MakeFactors(moments.shift, moments.delta, static_cast<float>(1.0 / std::sqrt(square)), 1.0f);
}

HWY_NOINLINE LayerFactors LayerStatistics::Redo(const RowPieces& row) const {
  const uint32_t max_abs = MaxAbsBits(row, cols_);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (max_abs >= kInfBits) return {nan, nan, nan, 1.0f};
  const float scale = ScaleFor(max_abs);
  const ScaledPieces scaled(row, scale);
  const Moments moments =
      single_pass_ ? SinglePassMoments(scaled, cols_) : SampledMoments(scaled, scaled, scaled, cols_);
  const double wide_scale = static_cast<double>(scale);
  return MakeFactors(moments.shift, moments.delta, InvStddev(moments.variance + eps_ * wide_scale * wide_scale), scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();
