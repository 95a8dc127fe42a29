// Index of the largest element of a row (include/prenorm/ops.h).
#include "prenorm/ops.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/argmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The larger of both, `max` where x is NaN.
template <class V>
HWY_INLINE V Larger(V x, V max) {
  return hn::IfThenElse(hn::Gt(x, max), x, max);
}

// One pass finds the first block that holds the maximum, a second look at that block the place in it: cheaper than
// carrying a vector of indices along.
size_t ArgMaxOfRow(const float* HWY_RESTRICT x, size_t n) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  constexpr size_t kBlock = 1024;
  const auto lowest = hn::Neg(hn::Inf(df));

  float best = hn::GetLane(lowest);
  size_t best_begin = n;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t end = HWY_MIN(n, begin + kBlock);
    auto max0 = lowest;
    auto max1 = lowest;
    auto max2 = lowest;
    auto max3 = lowest;
    size_t i = begin;
    for (; i + 4 * N <= end; i += 4 * N) {
      max0 = Larger(hn::LoadU(df, x + i), max0);
      max1 = Larger(hn::LoadU(df, x + i + N), max1);
      max2 = Larger(hn::LoadU(df, x + i + 2 * N), max2);
      max3 = Larger(hn::LoadU(df, x + i + 3 * N), max3);
    }
    float max = hn::ReduceMax(df, Larger(Larger(max0, max1), Larger(max2, max3)));
    for (; i < end; ++i) max = x[i] > max ? x[i] : max;
    if (max > best) {
      best = max;
      best_begin = begin;
    }
  }
  const size_t best_end = HWY_MIN(n, best_begin + kBlock);
  for (size_t i = best_begin; i < best_end; ++i) {
    if (x[i] == best) return i;
  }
  // Nothing above -Inf: the first -Inf, if there is one among NaN.
  for (size_t i = 0; best_begin == n && i < n; ++i) {
    if (x[i] == x[i]) return i;
  }
  return 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_EXPORT(ArgMaxOfRow);
}  // namespace

size_t ArgMax(const float* x, size_t n) { return HWY_DYNAMIC_DISPATCH(ArgMaxOfRow)(x, n); }

}  // namespace prenorm
#endif  // HWY_ONCE
