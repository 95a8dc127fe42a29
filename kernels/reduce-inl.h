// Sums, sums of squares, maxima of a row, with the same bits on every target that has FMA.
//
// The summation tree (norms.md, "promise B"): element i of a row belongs to virtual lane i mod 64. A lane adds at most
// 16 terms in f32 (one chunk of 1024 elements); then lanes j, j + 8, ..., j + 56 are widened and added pairwise into
// f64 spine lane j < 8, and at the end of the row the 8 spine lanes are added pairwise. (Squares of at most 512
// elements: four lanes of at most 8 terms are added in f32 first.) Lanes are independent, so neither the vector length
// nor the order in which a target visits them changes a bit; a tail adds zeros to the lanes it lacks. With kExact the
// lanes are f64 as well and a square is exact ("promise A").
//
// Eight accumulators at a time (two FMA units of a latency of four) cover two chunks, or 64 or 32 lanes of one, which
// is in L1 when a narrow target comes back for the rest. Sum and squares together have four each.

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

// What is summed over a row in one visit: x, and x * y or x * x.
struct RowSums {
  double sum = 0.0;
  double products = 0.0;
};

// At most as many f64 as f32 lanes, half a vector of f32 each.
using SpineTag = hn::CappedTag<double, kSpine>;

template <class DD>
HWY_INLINE hn::Vec<DD> WidenLanes(DD dd, const float* p) {
  return hn::PromoteTo(dd, hn::LoadU(hn::Rebind<float, DD>(), p));
}
template <class DD>
HWY_INLINE hn::Vec<DD> WidenLanes(DD dd, const double* p) {
  return hn::LoadU(dd, p);
}

// The lanes j, j + 8, ..., j + 56 of each j from `lanes` on.
template <class DD, typename T>
HWY_INLINE hn::Vec<DD> LaneSums(DD dd, const T* HWY_RESTRICT lanes) {
  const auto s01 = hn::Add(WidenLanes(dd, lanes), WidenLanes(dd, lanes + 8));
  const auto s23 = hn::Add(WidenLanes(dd, lanes + 16), WidenLanes(dd, lanes + 24));
  const auto s45 = hn::Add(WidenLanes(dd, lanes + 32), WidenLanes(dd, lanes + 40));
  const auto s67 = hn::Add(WidenLanes(dd, lanes + 48), WidenLanes(dd, lanes + 56));
  return hn::Add(hn::Add(s01, s23), hn::Add(s45, s67));
}

// spine[j] += the lanes j, j + 8, ..., j + 56.
template <typename T>
HWY_INLINE void FoldLanes(const T* HWY_RESTRICT lanes, double* HWY_RESTRICT spine) {
  const SpineTag dd;
  for (size_t j = 0; j < kSpine; j += hn::Lanes(dd)) {
    hn::StoreU(hn::Add(hn::LoadU(dd, spine + j), LaneSums(dd, lanes + j)), dd, spine + j);
  }
}

// ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)), where part(dd, j) gives the spine from s[j] on; in registers where
// vectors are long enough.
template <class Part>
HWY_INLINE double FoldSpine(const Part& part) {
  const SpineTag dd;
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  if constexpr (HWY_MAX_LANES_D(SpineTag) >= 4) {
    const hn::CappedTag<double, 4> d4;
    const hn::Half<decltype(d4)> d2;
    auto half = hn::Zero(d4);
    if constexpr (HWY_MAX_LANES_D(SpineTag) == 8) {
      const auto all = part(dd, 0);
      half = hn::Add(hn::LowerHalf(d4, all), hn::UpperHalf(d4, all));
    } else {
      half = hn::Add(part(d4, 0), part(d4, 4));
    }
    return hn::ReduceSum(d2, hn::Add(hn::LowerHalf(d2, half), hn::UpperHalf(d2, half)));
  }
#endif
  HWY_ALIGN double s[kSpine];
  for (size_t j = 0; j < kSpine; j += hn::Lanes(dd)) hn::StoreU(part(dd, j), dd, s + j);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// The sum of the spine and of all 64 lanes.
template <typename T>
HWY_INLINE double FoldAll(const T* HWY_RESTRICT lanes, const double* HWY_RESTRICT spine) {
  return FoldSpine([&](auto dd, size_t j)
                       HWY_ATTR { return hn::Add(hn::LoadU(dd, spine + j), LaneSums(dd, lanes + j)); });
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

// What is added to a lane: x, or its square.
struct Values {
  template <class V>
  static HWY_INLINE V Add(V lane, V x) {
    return hn::Add(lane, x);
  }
};
struct Squares {
  template <class V>
  static HWY_INLINE V Add(V lane, V x) {
    return hn::MulAdd(x, x, lane);
  }
};

// Four vectors of lanes of the elements from `begin` on, in steps of all virtual lanes.
template <class Lanes, class Term, class Source>
HWY_INLINE void FillLanes(const Source& source, size_t begin, size_t end, typename Lanes::T* HWY_RESTRICT lanes) {
  const typename Lanes::D d;
  using V = hn::Vec<typename Lanes::D>;
  const size_t N = hn::Lanes(d);
  V lane0 = hn::Zero(d), lane1 = hn::Zero(d), lane2 = hn::Zero(d), lane3 = hn::Zero(d);
  for (size_t i = begin; i < end; i += kVirtualLanes) {
    lane0 = Term::Add(lane0, Lanes::Load(d, source, i));
    lane1 = Term::Add(lane1, Lanes::Load(d, source, i + N));
    lane2 = Term::Add(lane2, Lanes::Load(d, source, i + 2 * N));
    lane3 = Term::Add(lane3, Lanes::Load(d, source, i + 3 * N));
  }
  hn::StoreU(lane0, d, lanes);
  hn::StoreU(lane1, d, lanes + N);
  hn::StoreU(lane2, d, lanes + 2 * N);
  hn::StoreU(lane3, d, lanes + 3 * N);
}

// The same for the elements `distance` further on too, whose lanes go to `far`.
template <class Lanes, class Term, class Source>
HWY_INLINE void FillLanesTwice(const Source& source, size_t begin, size_t end, size_t distance,
                               typename Lanes::T* HWY_RESTRICT lanes, typename Lanes::T* HWY_RESTRICT far) {
  const typename Lanes::D d;
  using V = hn::Vec<typename Lanes::D>;
  const size_t N = hn::Lanes(d);
  V lane0 = hn::Zero(d), lane1 = hn::Zero(d), lane2 = hn::Zero(d), lane3 = hn::Zero(d);
  V far0 = hn::Zero(d), far1 = hn::Zero(d), far2 = hn::Zero(d), far3 = hn::Zero(d);
  for (size_t i = begin; i < end; i += kVirtualLanes) {
    lane0 = Term::Add(lane0, Lanes::Load(d, source, i));
    lane1 = Term::Add(lane1, Lanes::Load(d, source, i + N));
    lane2 = Term::Add(lane2, Lanes::Load(d, source, i + 2 * N));
    lane3 = Term::Add(lane3, Lanes::Load(d, source, i + 3 * N));
    far0 = Term::Add(far0, Lanes::Load(d, source, i + distance));
    far1 = Term::Add(far1, Lanes::Load(d, source, i + distance + N));
    far2 = Term::Add(far2, Lanes::Load(d, source, i + distance + 2 * N));
    far3 = Term::Add(far3, Lanes::Load(d, source, i + distance + 3 * N));
  }
  hn::StoreU(lane0, d, lanes);
  hn::StoreU(lane1, d, lanes + N);
  hn::StoreU(lane2, d, lanes + 2 * N);
  hn::StoreU(lane3, d, lanes + 3 * N);
  hn::StoreU(far0, d, far);
  hn::StoreU(far1, d, far + N);
  hn::StoreU(far2, d, far + 2 * N);
  hn::StoreU(far3, d, far + 3 * N);
}

// Adds the elements begin .. end, fewer than kVirtualLanes, to the lanes from the first on.
template <class Lanes, class Term, class Source>
HWY_INLINE void AddTail(const Source& source, size_t begin, size_t end, typename Lanes::T* HWY_RESTRICT lanes) {
  const typename Lanes::D d;
  const size_t N = hn::Lanes(d);
  for (; begin + N <= end; begin += N, lanes += N) {
    hn::StoreU(Term::Add(hn::LoadU(d, lanes), Lanes::Load(d, source, begin)), d, lanes);
  }
  if (begin != end) {
    hn::StoreU(Term::Add(hn::LoadU(d, lanes), Lanes::LoadN(d, source, begin, end - begin)), d, lanes);
  }
}

// All lanes of one chunk, or part of one.
template <class Lanes, class Term, class Source>
HWY_INLINE void FillChunk(const Source& source, size_t begin, size_t end, typename Lanes::T* HWY_RESTRICT lanes) {
  const size_t N = hn::Lanes(typename Lanes::D());
  const size_t whole_end = begin + (end - begin) / kVirtualLanes * kVirtualLanes;
  if (4 * N == kVirtualLanes) {
    FillLanes<Lanes, Term>(source, begin, whole_end, lanes);
  } else {
    for (size_t part = 0; part < kVirtualLanes; part += 8 * N) {
      FillLanesTwice<Lanes, Term>(source, begin + part, whole_end, 4 * N, lanes + part, lanes + part + 4 * N);
    }
  }
  if (whole_end != end) AddTail<Lanes, Term>(source, whole_end, end, lanes);
}

// The sum of the terms of elements begin .. end, each visited once.
template <class Lanes, class Term, class Source>
HWY_INLINE double Accumulate(const Source& source, size_t begin, size_t end) {
  const size_t N = hn::Lanes(typename Lanes::D());
  HWY_ALIGN typename Lanes::T lanes[2 * kVirtualLanes];
  HWY_ALIGN double spine[kSpine] = {};
  size_t chunk = begin;
  if (4 * N == kVirtualLanes) {
    for (; chunk + 2 * kChunk <= end; chunk += 2 * kChunk) {
      FillLanesTwice<Lanes, Term>(source, chunk, chunk + kChunk, kChunk, lanes, lanes + kVirtualLanes);
      FoldLanes(lanes, spine);
      if (chunk + 2 * kChunk == end) return FoldAll(lanes + kVirtualLanes, spine);
      FoldLanes(lanes + kVirtualLanes, spine);
    }
  }
  for (; chunk + kChunk < end; chunk += kChunk) {
    FillChunk<Lanes, Term>(source, chunk, chunk + kChunk, lanes);
    FoldLanes(lanes, spine);
  }
  FillChunk<Lanes, Term>(source, chunk, end, lanes);
  return FoldAll(lanes, spine);
}

// In place of a second source: the first again.
struct SameSource {};

template <class Source>
HWY_INLINE hn::Vec<RowTag> LoadFactor(const Source& source, hn::Vec<RowTag> x, size_t i) {
  if constexpr (std::is_same_v<Source, SameSource>) {
    return x;
  } else {
    return LoadF32(RowTag(), source, i);
  }
}
template <class Source>
HWY_INLINE hn::Vec<RowTag> LoadFactorN(const Source& source, hn::Vec<RowTag> x, size_t i, size_t n) {
  if constexpr (std::is_same_v<Source, SameSource>) {
    return x;
  } else {
    return LoadNF32(RowTag(), source, i, n);
  }
}

// Adds x and x * y of elements chunk .. chunk_end, at most kChunk, to all lanes; both are visited once.
template <class X, class Y>
HWY_INLINE void FillChunkBoth(const X& x, const Y& y, size_t chunk, size_t chunk_end, float* HWY_RESTRICT sum_lanes,
                              float* HWY_RESTRICT product_lanes) {
  using V = hn::Vec<RowTag>;
  const RowTag d;
  const size_t N = hn::Lanes(d);
  const size_t whole_end = chunk + (chunk_end - chunk) / kVirtualLanes * kVirtualLanes;
  for (size_t part = 0; part < kVirtualLanes; part += 4 * N) {
    V sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    V product0 = hn::Zero(d), product1 = hn::Zero(d), product2 = hn::Zero(d), product3 = hn::Zero(d);
    for (size_t i = chunk + part; i < whole_end; i += kVirtualLanes) {
      const V x0 = LoadF32(d, x, i);
      const V x1 = LoadF32(d, x, i + N);
      const V x2 = LoadF32(d, x, i + 2 * N);
      const V x3 = LoadF32(d, x, i + 3 * N);
      sum0 = hn::Add(sum0, x0);
      sum1 = hn::Add(sum1, x1);
      sum2 = hn::Add(sum2, x2);
      sum3 = hn::Add(sum3, x3);
      product0 = hn::MulAdd(x0, LoadFactor(y, x0, i), product0);
      product1 = hn::MulAdd(x1, LoadFactor(y, x1, i + N), product1);
      product2 = hn::MulAdd(x2, LoadFactor(y, x2, i + 2 * N), product2);
      product3 = hn::MulAdd(x3, LoadFactor(y, x3, i + 3 * N), product3);
    }
    hn::StoreU(sum0, d, sum_lanes + part);
    hn::StoreU(sum1, d, sum_lanes + part + N);
    hn::StoreU(sum2, d, sum_lanes + part + 2 * N);
    hn::StoreU(sum3, d, sum_lanes + part + 3 * N);
    hn::StoreU(product0, d, product_lanes + part);
    hn::StoreU(product1, d, product_lanes + part + N);
    hn::StoreU(product2, d, product_lanes + part + 2 * N);
    hn::StoreU(product3, d, product_lanes + part + 3 * N);
  }
  size_t i = whole_end;
  const auto add = [&](size_t lane, V v, V factor) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sum_lanes + lane), v), d, sum_lanes + lane);
    hn::StoreU(hn::MulAdd(v, factor, hn::LoadU(d, product_lanes + lane)), d, product_lanes + lane);
  };
  for (; i + N <= chunk_end; i += N) {
    const V v = LoadF32(d, x, i);
    add(i - whole_end, v, LoadFactor(y, v, i));
  }
  if (i != chunk_end) {
    const V v = LoadNF32(d, x, i, chunk_end - i);
    add(i - whole_end, v, LoadFactorN(y, v, i, chunk_end - i));
  }
}

// The sums of x and of x * y in one visit of both.
template <class X, class Y>
HWY_INLINE RowSums AccumulateBoth(const X& x, const Y& y, size_t begin, size_t end) {
  HWY_ALIGN float sum_lanes[kVirtualLanes];
  HWY_ALIGN float product_lanes[kVirtualLanes];
  HWY_ALIGN double sum_spine[kSpine] = {};
  HWY_ALIGN double product_spine[kSpine] = {};
  for (size_t chunk = begin;; chunk += kChunk) {
    const size_t chunk_end = chunk + std::min(kChunk, end - chunk);
    FillChunkBoth(x, y, chunk, chunk_end, sum_lanes, product_lanes);
    if (chunk_end == end) return {FoldAll(sum_lanes, sum_spine), FoldAll(product_lanes, product_spine)};
    FoldLanes(sum_lanes, sum_spine);
    FoldLanes(product_lanes, product_spine);
  }
}

// The sum of squares of at most kFewCols elements, in promise B. A lane adds at most 8 terms, so four lanes
// are added in f32 before they are widened: that leaves a quarter of the conversions, which short rows spend
// most of their time on.
inline constexpr size_t kFewCols = 512;
template <class Source>
HWY_INLINE double SumOfFewSquares(const Source& source, size_t cols) {
  const RowTag df;
  HWY_ALIGN float lanes[kVirtualLanes];
  FillChunk<F32Lanes, Squares>(source, 0, cols, lanes);
  for (size_t j = 0; j < 16; j += hn::Lanes(df)) {
    const auto s02 = hn::Add(hn::LoadU(df, lanes + j), hn::LoadU(df, lanes + j + 32));
    const auto s13 = hn::Add(hn::LoadU(df, lanes + j + 16), hn::LoadU(df, lanes + j + 48));
    hn::StoreU(hn::Add(s02, s13), df, lanes + j);
  }
  return FoldSpine([&](auto dd, size_t j)
                       HWY_ATTR { return hn::Add(WidenLanes(dd, lanes + j), WidenLanes(dd, lanes + j + kSpine)); });
}

// Sums of x and of x * y.
template <class X, class Y>
HWY_NOINLINE RowSums SumAndProducts(X x, Y y, size_t cols) {
  return AccumulateBoth(x, y, 0, cols);
}

// The mean of the first 64 elements, roughly: summed in f32, in the same tree on every target.
template <class Source>
HWY_INLINE float MeanOf64(const Source& source) {
  const RowTag df;
  const hn::CappedTag<float, 4> d4;
  HWY_ALIGN float sums[16];
  for (size_t j = 0; j < 16; j += hn::Lanes(df)) {
    const auto s01 = hn::Add(LoadF32(df, source, j), LoadF32(df, source, j + 16));
    const auto s23 = hn::Add(LoadF32(df, source, j + 32), LoadF32(df, source, j + 48));
    hn::StoreU(hn::Add(s01, s23), df, sums + j);
  }
  if (hn::Lanes(d4) == 4) {
    const auto s01 = hn::Add(hn::LoadU(d4, sums), hn::LoadU(d4, sums + 4));
    const auto s23 = hn::Add(hn::LoadU(d4, sums + 8), hn::LoadU(d4, sums + 12));
    hn::StoreU(hn::Add(s01, s23), d4, sums);
  } else {
    for (size_t j = 0; j < 4; ++j) sums[j] = (sums[j] + sums[j + 4]) + (sums[j + 8] + sums[j + 12]);
  }
  return ((sums[0] + sums[2]) + (sums[1] + sums[3])) * 0x1p-6f;
}

// The largest |x| as bits of an f32 without sign: above 0x7F800000 there is a NaN in the row. Exact in any order.
HWY_INLINE uint32_t MaxAbsOf(const float* source, size_t cols) {
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
