// Sums, sums of squares, maxima of a row, with the same bits on every target that has FMA.
//
// The summation tree (norms.md, "promise B"): element i of a row belongs to virtual lane i mod 64. A lane adds at most
// 16 terms in f32 (one chunk of 1024 elements); then lanes j, j + 8, ..., j + 56 are widened and added pairwise into
// f64 spine lane j < 8, and at the end of the row the 8 spine lanes are added pairwise. Lanes are independent, so
// neither the vector length nor the order in which a target visits them changes a bit; a tail adds zeros to the lanes
// it lacks. With kExact the lanes are f64 as well and a square is exact ("promise A").
//
// Four accumulators at a time cover 64, 32 or 16 lanes of a chunk, which is in L1 when a narrow target comes back for
// the rest. The chains of successive chunks are independent, so out-of-order execution hides the latency of FMA.

#if defined(PRENORM_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_REDUCE_INL_H_
#undef PRENORM_KERNELS_REDUCE_INL_H_
#else
#define PRENORM_KERNELS_REDUCE_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kVirtualLanes = 64;
inline constexpr size_t kChunk = 16 * kVirtualLanes;
inline constexpr size_t kSpine = 8;

// What is summed over a row; `squares` or `sum` is 0 where it was not asked for.
struct RowSums {
  double sum = 0.0;
  double squares = 0.0;
};

// At most as many f64 as f32 lanes, half a vector of f32 each.
using SpineTag = hn::CappedTag<double, kSpine>;

HWY_INLINE hn::Vec<SpineTag> WidenLanes(SpineTag dd, const float* p) {
  const hn::Rebind<float, SpineTag> df;
  return hn::PromoteTo(dd, hn::LoadU(df, p));
}
HWY_INLINE hn::Vec<SpineTag> WidenLanes(SpineTag dd, const double* p) { return hn::LoadU(dd, p); }

// spine[j] += the lanes j, j + 8, ..., j + 56.
template <typename T>
HWY_INLINE void FoldLanes(const T* HWY_RESTRICT lanes, double* HWY_RESTRICT spine) {
  const SpineTag dd;
  for (size_t j = 0; j < kSpine; j += hn::Lanes(dd)) {
    const auto s01 = hn::Add(WidenLanes(dd, lanes + j), WidenLanes(dd, lanes + j + 8));
    const auto s23 = hn::Add(WidenLanes(dd, lanes + j + 16), WidenLanes(dd, lanes + j + 24));
    const auto s45 = hn::Add(WidenLanes(dd, lanes + j + 32), WidenLanes(dd, lanes + j + 40));
    const auto s67 = hn::Add(WidenLanes(dd, lanes + j + 48), WidenLanes(dd, lanes + j + 56));
    const auto sum = hn::Add(hn::Add(s01, s23), hn::Add(s45, s67));
    hn::StoreU(hn::Add(hn::LoadU(dd, spine + j), sum), dd, spine + j);
  }
}

HWY_INLINE double FoldSpine(const double* spine) {
  return ((spine[0] + spine[4]) + (spine[2] + spine[6])) + ((spine[1] + spine[5]) + (spine[3] + spine[7]));
}

// The tag whose lanes hold the accumulators, and the loads that feed it.
struct F32Lanes {
  using T = float;
  using D = RowTag;
  template <class Source>
  static HWY_INLINE hn::Vec<D> Load(D d, const Source& source, size_t i) {
    return LoadF32(d, source, i);
  }
  template <class Source>
  static HWY_INLINE hn::Vec<D> LoadN(D d, const Source& source, size_t i, size_t n) {
    return LoadNF32(d, source, i, n);
  }
};
struct F64Lanes {
  using T = double;
  using D = SpineTag;
  template <class Source>
  static HWY_INLINE hn::Vec<D> Load(D d, const Source& source, size_t i) {
    return hn::PromoteTo(d, LoadF32(hn::Rebind<float, D>(), source, i));
  }
  template <class Source>
  static HWY_INLINE hn::Vec<D> LoadN(D d, const Source& source, size_t i, size_t n) {
    return hn::PromoteTo(d, LoadNF32(hn::Rebind<float, D>(), source, i, n));
  }
};

// Visits elements begin .. end of `source` once each and adds them, their squares, or both. The one reduction loop.
template <class Lanes, bool kSum, bool kSquares, class Source>
HWY_INLINE RowSums Accumulate(const Source& source, size_t begin, size_t end) {
  using T = typename Lanes::T;
  using D = typename Lanes::D;
  using V = hn::Vec<D>;
  const D d;
  const size_t N = hn::Lanes(d);
  HWY_ALIGN T sum_lanes[kVirtualLanes];
  HWY_ALIGN T square_lanes[kVirtualLanes];
  HWY_ALIGN double sum_spine[kSpine] = {};
  HWY_ALIGN double square_spine[kSpine] = {};

  for (size_t chunk = begin; chunk < end; chunk += kChunk) {
    const size_t chunk_cols = std::min(kChunk, end - chunk);
    const size_t whole_end = chunk + chunk_cols / kVirtualLanes * kVirtualLanes;
    for (size_t part = 0; part < kVirtualLanes; part += 4 * N) {
      V sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
      V square0 = hn::Zero(d), square1 = hn::Zero(d), square2 = hn::Zero(d), square3 = hn::Zero(d);
      for (size_t i = chunk + part; i < whole_end; i += kVirtualLanes) {
        const V x0 = Lanes::Load(d, source, i);
        const V x1 = Lanes::Load(d, source, i + N);
        const V x2 = Lanes::Load(d, source, i + 2 * N);
        const V x3 = Lanes::Load(d, source, i + 3 * N);
        if constexpr (kSum) {
          sum0 = hn::Add(sum0, x0);
          sum1 = hn::Add(sum1, x1);
          sum2 = hn::Add(sum2, x2);
          sum3 = hn::Add(sum3, x3);
        }
        if constexpr (kSquares) {
          square0 = hn::MulAdd(x0, x0, square0);
          square1 = hn::MulAdd(x1, x1, square1);
          square2 = hn::MulAdd(x2, x2, square2);
          square3 = hn::MulAdd(x3, x3, square3);
        }
      }
      if constexpr (kSum) {
        hn::StoreU(sum0, d, sum_lanes + part);
        hn::StoreU(sum1, d, sum_lanes + part + N);
        hn::StoreU(sum2, d, sum_lanes + part + 2 * N);
        hn::StoreU(sum3, d, sum_lanes + part + 3 * N);
      }
      if constexpr (kSquares) {
        hn::StoreU(square0, d, square_lanes + part);
        hn::StoreU(square1, d, square_lanes + part + N);
        hn::StoreU(square2, d, square_lanes + part + 2 * N);
        hn::StoreU(square3, d, square_lanes + part + 3 * N);
      }
    }

    const auto add_to_lanes = [&](size_t lane, V x) HWY_ATTR {
      if constexpr (kSum) hn::StoreU(hn::Add(hn::LoadU(d, sum_lanes + lane), x), d, sum_lanes + lane);
      if constexpr (kSquares) hn::StoreU(hn::MulAdd(x, x, hn::LoadU(d, square_lanes + lane)), d, square_lanes + lane);
    };
    const size_t chunk_end = chunk + chunk_cols;
    size_t i = whole_end;
    for (; i + N <= chunk_end; i += N) add_to_lanes(i - whole_end, Lanes::Load(d, source, i));
    if (i != chunk_end) add_to_lanes(i - whole_end, Lanes::LoadN(d, source, i, chunk_end - i));

    if constexpr (kSum) FoldLanes(sum_lanes, sum_spine);
    if constexpr (kSquares) FoldLanes(square_lanes, square_spine);
  }
  RowSums sums;
  if constexpr (kSum) sums.sum = FoldSpine(sum_spine);
  if constexpr (kSquares) sums.squares = FoldSpine(square_spine);
  return sums;
}

template <class Lanes = F32Lanes, class Source>
HWY_NOINLINE double SumOfSquares(Source source, size_t cols) {
  return Accumulate<Lanes, false, true>(source, 0, cols).squares;
}

template <class Lanes = F32Lanes, class Source>
HWY_NOINLINE double Sum(Source source, size_t begin, size_t end) {
  return Accumulate<Lanes, true, false>(source, begin, end).sum;
}

// Sum and sum of squares in one visit.
template <class Lanes = F32Lanes, class Source>
HWY_NOINLINE RowSums SumAndSquares(Source source, size_t begin, size_t end) {
  return Accumulate<Lanes, true, true>(source, begin, end);
}

// The largest |x| as bits of an f32 without sign: above 0x7F800000 there is a NaN in the row. Exact in any order.
template <class Source>
HWY_NOINLINE uint32_t MaxAbsBits(Source source, size_t cols) {
  const RowTag df;
  const hn::RebindToSigned<RowTag> di;
  const size_t N = hn::Lanes(df);
  auto max = hn::Zero(di);
  size_t i = 0;
  for (; i + N <= cols; i += N) max = hn::Max(max, hn::BitCast(di, hn::Abs(LoadF32(df, source, i))));
  if (i != cols) max = hn::Max(max, hn::BitCast(di, hn::Abs(LoadNF32(df, source, i, cols - i))));
  return static_cast<uint32_t>(hn::ReduceMax(di, max));
}

inline constexpr uint32_t kInfBits = 0x7F800000u;

// The power of two that brings a largest magnitude `max_abs_bits` (finite) into [1, 4), as far as f32 can hold it.
HWY_INLINE float ScaleFor(uint32_t max_abs_bits) {
  const int exponent = static_cast<int>(max_abs_bits >> 23);  // biased; 0 for zero and subnormals
  const int scale_exponent = std::clamp(254 - exponent, 1, 254);
  return std::bit_cast<float>(static_cast<uint32_t>(scale_exponent) << 23);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_REDUCE_INL_H_
