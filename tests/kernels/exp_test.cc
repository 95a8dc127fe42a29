// FastExp against long double, on every target of the host.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/exp_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "hwy/tests/test_util-inl.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace {

// Error in units of the last place of the exact result; below the normals the unit is 2^-149.
double UlpError(float actual, float x) {
  const long double exact = std::exp(static_cast<long double>(x));
  if (exact > static_cast<long double>(std::numeric_limits<float>::max())) {
    const auto halfway = std::ldexp(2.0L - std::ldexp(1.0L, -24), 127);
    return std::isinf(actual) || (exact < halfway && actual == std::numeric_limits<float>::max()) ? 0.0 : 1e9;
  }
  const int exponent = std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::abs(actual - exact) / std::ldexp(1.0L, exponent - 23));
}

std::vector<float> Exp(std::vector<float> x) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  const size_t count = x.size();
  x.resize(hwy::RoundUpTo(count, N));
  for (size_t i = 0; i < count; i += N) hn::StoreU(FastExp(df, hn::LoadU(df, &x[i])), df, &x[i]);
  x.resize(count);
  return x;
}

void TestUlp() {
  double worst_normal = 0.0;
  double worst_subnormal = 0.0;
  std::vector<float> x;
  // Both signs, from 2^-30 to 2^7; the odd step visits all parts of the mantissa.
  for (uint32_t bits = 0x30800000u; bits < 0x43000000u; bits += 4099u) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  for (float v = -104.5f; v < -87.0f; v += 0.00137f) x.push_back(v);
  for (float v = 88.5f; v < 89.0f; v += 0.00011f) x.push_back(v);
  const std::vector<float> y = Exp(x);
  for (size_t i = 0; i < x.size(); ++i) {
    double& worst = x[i] < -87.33f ? worst_subnormal : worst_normal;
    worst = std::max(worst, UlpError(y[i], x[i]));
  }
  ::testing::Test::RecordProperty("worst_ulp", std::to_string(worst_normal));
  EXPECT_LE(worst_normal, 1.0) << hwy::TargetName(HWY_TARGET);
  EXPECT_LE(worst_subnormal, 1.0) << hwy::TargetName(HWY_TARGET);
}

void TestSpecialValues() {
  const float inf = std::numeric_limits<float>::infinity();
  const float max = std::numeric_limits<float>::max();
  const std::vector<float> y = Exp({-inf, -max, -104.0f, 0.0f, -0.0f, inf, max, 1e4f, -1e30f, std::nanf("")});
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], 1.0f);
  EXPECT_EQ(y[4], 1.0f);
  EXPECT_EQ(y[5], inf);
  EXPECT_EQ(y[6], inf);
  EXPECT_EQ(y[7], inf);
  EXPECT_EQ(y[8], 0.0f);
  EXPECT_TRUE(std::isnan(y[9]));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_BEFORE_TEST(ExpTest);
HWY_EXPORT_AND_TEST_P(ExpTest, TestUlp);
HWY_EXPORT_AND_TEST_P(ExpTest, TestSpecialValues);
HWY_AFTER_TEST();
}  // namespace
}  // namespace prenorm
#endif  // HWY_ONCE
