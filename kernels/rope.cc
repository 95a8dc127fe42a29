// Rotary position embedding: angles in f64, rotation of heads in f32 (include/prenorm/ops.h).
#include "prenorm/ops.h"

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Multiplications, subtraction and addition stay separate: fused ones would differ on targets without FMA.
void RotateHalves(float* HWY_RESTRICT x, size_t half, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + N <= half; i += N) {
    const auto a = hn::LoadU(df, x + i);
    const auto b = hn::LoadU(df, x + half + i);
    const auto c = hn::LoadU(df, cos + i);
    const auto s = hn::LoadU(df, sin + i);
    hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), df, x + i);
    hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), df, x + half + i);
  }
  for (; i < half; ++i) {
    const float a = x[i];
    const float b = x[half + i];
    x[i] = a * cos[i] - b * sin[i];
    x[half + i] = b * cos[i] + a * sin[i];
  }
}

void RotateNeighbours(float* HWY_RESTRICT x, size_t half, const float* HWY_RESTRICT cos,
                      const float* HWY_RESTRICT sin) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + N <= half; i += N) {
    hn::Vec<decltype(df)> a;
    hn::Vec<decltype(df)> b;
    hn::LoadInterleaved2(df, x + 2 * i, a, b);
    const auto c = hn::LoadU(df, cos + i);
    const auto s = hn::LoadU(df, sin + i);
    const auto rotated_a = hn::Sub(hn::Mul(a, c), hn::Mul(b, s));
    const auto rotated_b = hn::Add(hn::Mul(b, c), hn::Mul(a, s));
    hn::StoreInterleaved2(rotated_a, rotated_b, df, x + 2 * i);
  }
  for (; i < half; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

void RotateHeads(float* x, size_t stride, size_t heads, size_t half, const float* cos, const float* sin,
                 RopePairs pairs) {
  for (size_t h = 0; h < heads; ++h) {
    if (pairs == RopePairs::kHalves) {
      RotateHalves(x + h * stride, half, cos, sin);
    } else {
      RotateNeighbours(x + h * stride, half, cos, sin);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {

HWY_EXPORT(RotateHeads);

struct CosSin {
  double cos;
  double sin;
};

// The series of Taylor end below 2^-53 for |r| <= pi/4. Own code and not std::cos, so that the bits are the same with
// every mathematical library; it is compiled once, without FMA.
CosSin CosSinOf(double angle) {
  // pi/2 in parts of 33 bits: exact products with quadrant numbers up to 2^20.
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi1 = 0x1.921fb544p+0;
  constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
  constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
  constexpr double kRound = 0x1.8p52;  // Adding it leaves the nearest integer in the low bits.
  const double quadrant = (angle * kTwoOverPi + kRound) - kRound;
  const double r = ((angle - quadrant * kHalfPi1) - quadrant * kHalfPi2) - quadrant * kHalfPi3;
  const double z = r * r;
  double sin = -1.0 / 1307674368000.0;
  sin = sin * z + 1.0 / 6227020800.0;
  sin = sin * z - 1.0 / 39916800.0;
  sin = sin * z + 1.0 / 362880.0;
  sin = sin * z - 1.0 / 5040.0;
  sin = sin * z + 1.0 / 120.0;
  sin = sin * z - 1.0 / 6.0;
  sin = r + r * (z * sin);
  double cos = 1.0 / 20922789888000.0;
  cos = cos * z - 1.0 / 87178291200.0;
  cos = cos * z + 1.0 / 479001600.0;
  cos = cos * z - 1.0 / 3628800.0;
  cos = cos * z + 1.0 / 40320.0;
  cos = cos * z - 1.0 / 720.0;
  cos = cos * z + 1.0 / 24.0;
  cos = 1.0 - z * (0.5 - z * cos);
  switch (static_cast<int64_t>(quadrant) & 3) {
    case 0:
      return {cos, sin};
    case 1:
      return {-sin, cos};
    case 2:
      return {-cos, -sin};
    default:
      return {sin, -cos};
  }
}

}  // namespace

void RopeAngles(const float* inv_freq, size_t half, size_t position, float mscale, float* cos, float* sin) {
  for (size_t i = 0; i < half; ++i) {
    // Exact: 24 bits times at most 29.
    const CosSin value = CosSinOf(static_cast<double>(inv_freq[i]) * static_cast<double>(position));
    cos[i] = static_cast<float>(value.cos * static_cast<double>(mscale));
    sin[i] = static_cast<float>(value.sin * static_cast<double>(mscale));
  }
}

void ApplyRope(float* x, size_t stride, size_t heads, size_t head_dim, size_t rotary_dim, const float* cos,
               const float* sin, RopePairs pairs) {
  HWY_DASSERT(rotary_dim % 2 == 0 && rotary_dim <= head_dim && head_dim <= stride);
  (void)head_dim;
  HWY_DYNAMIC_DISPATCH(RotateHeads)(x, stride, heads, rotary_dim / 2, cos, sin, pairs);
}

}  // namespace prenorm
#endif  // HWY_ONCE
