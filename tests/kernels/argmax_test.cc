// ArgMax on every target of the host.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "prenorm/ops.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

class ArgMaxTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(ForceTarget(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }
};
INSTANTIATE_TEST_SUITE_P(Targets, ArgMaxTest, ::testing::ValuesIn(RunnableTargets()));

size_t ArgMaxOf(const std::vector<float>& x) { return ArgMax(x.data(), x.size()); }

TEST_P(ArgMaxTest, FindsTheMaximumAtEveryPlaceOfEveryLength) {
  for (size_t n = 1; n <= 140; ++n) {
    for (size_t place = 0; place < n; ++place) {
      std::vector<float> x(n, -3.0f);
      x[place] = -2.5f;
      ASSERT_EQ(ArgMaxOf(x), place) << n;
    }
  }
}

TEST_P(ArgMaxTest, TakesTheLowestIndexOnTies) {
  std::mt19937 random(5);
  for (const size_t n : {5, 100, 1023, 1024, 1025, 5000}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> x(n);
      for (float& v : x) v = static_cast<float>(random() % 20);
      size_t expected = 0;
      for (size_t i = 1; i < n; ++i) {
        if (x[i] > x[expected]) expected = i;
      }
      ASSERT_EQ(ArgMaxOf(x), expected) << n;
    }
  }
  EXPECT_EQ(ArgMaxOf({-1.0f, -0.0f, 0.0f}), 1u);
  EXPECT_EQ(ArgMaxOf(std::vector<float>(3000, -kInf)), 0u);
}

TEST_P(ArgMaxTest, NaNNeverWins) {
  EXPECT_EQ(ArgMaxOf({kNaN, -kInf}), 1u);
  EXPECT_EQ(ArgMaxOf({kNaN, kNaN}), 0u);
  EXPECT_EQ(ArgMaxOf({}), 0u);
  for (const size_t n : {40, 4000}) {
    for (const size_t place : {n / 2, n - 1, size_t{0}}) {
      std::vector<float> x(n, kNaN);
      x[place] = -kMax;
      if (place > 0) x[0] = -kInf;
      EXPECT_EQ(ArgMaxOf(x), place);
      x[place] = kInf;
      EXPECT_EQ(ArgMaxOf(x), place);
    }
  }
}

}  // namespace
}  // namespace prenorm
