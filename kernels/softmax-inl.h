// Softmax and log-sum-exp of a row in f32, with the maximum subtracted and the sum in the tree of reduce-inl.h.

#if defined(PRENORM_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_SOFTMAX_INL_H_
#undef PRENORM_KERNELS_SOFTMAX_INL_H_
#else
#define PRENORM_KERNELS_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reads exp(x - max); writes it to `out` unless that is null.
struct ExpSource {
  const float* x;
  float max;
  float* out;
};
template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const ExpSource& s, size_t i) {
  const hn::Vec<DF> e = FastExp(df, hn::Sub(hn::LoadU(df, s.x + i), hn::Set(df, s.max)));
  if (s.out != nullptr) hn::StoreU(e, df, s.out + i);
  return e;
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const ExpSource& s, size_t i, size_t n) {
  const hn::Vec<DF> e = FastExp(df, hn::Sub(hn::LoadN(df, s.x + i, n), hn::Set(df, s.max)));
  if (s.out != nullptr) hn::StoreN(e, df, s.out + i, n);
  return hn::IfThenElseZero(hn::FirstN(df, n), e);
}

// The largest element, NaN aside: a NaN still reaches the sum of exponentials.
HWY_INLINE float MaxOfRow(const float* x, size_t cols) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  const auto lowest = hn::Set(df, -std::numeric_limits<float>::infinity());
  auto max0 = lowest;
  auto max1 = lowest;
  size_t i = 0;
  // x first in the comparison: false for NaN, so that the old maximum stays.
  const auto larger = [](hn::Vec<RowTag> v, hn::Vec<RowTag> max)
                          HWY_ATTR { return hn::IfThenElse(hn::Gt(v, max), v, max); };
  for (; i + 2 * N <= cols; i += 2 * N) {
    max0 = larger(hn::LoadU(df, x + i), max0);
    max1 = larger(hn::LoadU(df, x + i + N), max1);
  }
  if (i + N <= cols) {
    max0 = larger(hn::LoadU(df, x + i), max0);
    i += N;
  }
  if (const size_t remaining = cols - i; remaining != 0) {
    max1 = larger(hn::IfThenElse(hn::FirstN(df, remaining), hn::LoadN(df, x + i, remaining), lowest), max1);
  }
  return hn::ReduceMax(df, larger(max0, max1));
}

inline void SoftmaxRow(float* x, size_t cols) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const float max = MaxOfRow(x, cols);
  // All masked (or NaN): against 0 every exponential of -Inf is 0, and the sum is made 1 so that zeros come out.
  const bool none = max == -std::numeric_limits<float>::infinity();
  double sum = Accumulate<F32Lanes, Values>(ExpSource{x, none ? 0.0f : max, x}, 0, cols);
  if (sum == 0.0) sum = 1.0;
  const V inv_sum = hn::Set(df, static_cast<float>(1.0 / sum));
  MapRow(
      df, cols, x, [&](V e) HWY_ATTR { return hn::Mul(e, inv_sum); }, static_cast<const float*>(x));
}

inline float LogSumExpRow(const float* x, size_t cols) {
  const float max = MaxOfRow(x, cols);
  const bool infinite = std::isinf(max);
  const double sum = Accumulate<F32Lanes, Values>(ExpSource{x, infinite ? 0.0f : max, nullptr}, 0, cols);
  if (infinite) return std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : max;
  return static_cast<float>(static_cast<double>(max) + std::log(sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_SOFTMAX_INL_H_
