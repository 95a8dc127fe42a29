// Rotary positions: angles against long double, rotations against known values and a scalar model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "prenorm/ops.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

class RopeTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(ForceTarget(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }
};
INSTANTIATE_TEST_SUITE_P(Targets, RopeTest, ::testing::ValuesIn(RunnableTargets()));

std::vector<float> InverseFrequencies(size_t half, double base) {
  std::vector<float> inv_freq;
  for (size_t i = 0; i < half; ++i) {
    inv_freq.push_back(static_cast<float>(std::pow(base, -static_cast<double>(i) / static_cast<double>(half))));
  }
  return inv_freq;
}

double UlpError(float actual, long double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / std::ldexp(1.0L, exponent - 23));
}

TEST(RopeAnglesTest, AreWithinOneUlpUpToAMillionPositions) {
  const std::vector<float> inv_freq = InverseFrequencies(32, 500000.0);
  std::vector<size_t> positions = {0, 1, 2, 3, 1000, 8191, 131071, 999999, 1000000, 1600000};
  for (size_t i = 0; i < 3000; ++i) positions.push_back(i * 347 + 11);
  double worst = 0.0;
  for (const size_t position : positions) {
    float cos[32];
    float sin[32];
    RopeAngles(inv_freq.data(), 32, position, 1.0f, cos, sin);
    for (size_t i = 0; i < 32; ++i) {
      const long double angle = static_cast<long double>(inv_freq[i]) * static_cast<long double>(position);
      worst = std::max({worst, UlpError(cos[i], std::cos(angle)), UlpError(sin[i], std::sin(angle))});
    }
  }
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 0.51);
}

TEST(RopeAnglesTest, MagnitudeFactorMultipliesOnce) {
  const float inv_freq[] = {1.0f, 0.25f};
  float cos[2];
  float sin[2];
  RopeAngles(inv_freq, 2, 7, 1.1386294f, cos, sin);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_FLOAT_EQ(cos[i], 1.1386294f * std::cos(7.0f * inv_freq[i]));
    EXPECT_FLOAT_EQ(sin[i], 1.1386294f * std::sin(7.0f * inv_freq[i]));
  }
}

TEST_P(RopeTest, PairsNeighboursOrHalves) {  // F19
  const std::vector<float> inv_freq = InverseFrequencies(2, 10000.0);
  float cos[2];
  float sin[2];
  RopeAngles(inv_freq.data(), 2, 1, 1.0f, cos, sin);
  float neighbours[] = {1.0f, 2.0f, 3.0f, 4.0f};
  ApplyRope(neighbours, 4, 1, 4, 4, cos, sin, RopePairs::kNeighbours);
  const float expected_neighbours[] = {-1.1426397f, 1.9220756f, 2.9598507f, 4.0297995f};
  float halves[] = {1.0f, 2.0f, 3.0f, 4.0f};
  ApplyRope(halves, 4, 1, 4, 4, cos, sin, RopePairs::kHalves);
  const float expected_halves[] = {-1.9841106f, 1.9599007f, 2.4623779f, 4.0197995f};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(neighbours[i], expected_neighbours[i], 5e-7f);
    EXPECT_NEAR(halves[i], expected_halves[i], 5e-7f);
  }
}

TEST_P(RopeTest, RotatesEveryHeadAndLeavesTheRestAlone) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const RopePairs pairs : {RopePairs::kNeighbours, RopePairs::kHalves}) {
    for (const size_t rotary_dim : {2, 4, 6, 14, 32, 34, 64, 80, 128}) {
      const size_t head_dim = rotary_dim + 4, stride = head_dim + 3, heads = 3, half = rotary_dim / 2;
      std::vector<float> cos(half), sin(half), x(heads * stride);
      RopeAngles(InverseFrequencies(half, 10000.0).data(), half, 1234, 1.0f, cos.data(), sin.data());
      for (float& v : x) v = normal(random);
      std::vector<float> expected = x;
      for (size_t h = 0; h < heads; ++h) {
        for (size_t i = 0; i < half; ++i) {
          const bool halves = pairs == RopePairs::kHalves;
          float& a = expected[h * stride + (halves ? i : 2 * i)];
          float& b = expected[h * stride + (halves ? i + half : 2 * i + 1)];
          const float ac = a * cos[i], bs = b * sin[i], bc = b * cos[i], as = a * sin[i];
          a = ac - bs;
          b = bc + as;
        }
      }
      ApplyRope(x.data(), stride, heads, head_dim, rotary_dim, cos.data(), sin.data(), pairs);
      // The same bits on every target, tails included.
      EXPECT_EQ(0, std::memcmp(x.data(), expected.data(), x.size() * sizeof(float))) << rotary_dim;
    }
  }
}

}  // namespace
}  // namespace prenorm
