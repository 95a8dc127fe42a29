// Softmax and log-sum-exp of rows.
#include <gtest/gtest.h>

#include "prenorm/norm.h"
#include "prenorm/norm_parallel.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Probabilities(std::vector<float> x) {
  Softmax(x.data(), x.size(), 1, x.size());
  return x;
}

float LogSum(const std::vector<float>& x) {
  float out = 0.0f;
  LogSumExp(x.data(), x.size(), &out, 1, x.size());
  return out;
}

// The difference to the maximum is rounded, which the exponential turns into a relative error.
TEST(SoftmaxTest, StaysWithinItsErrorBoundAtEveryLength) {
  ForEachTarget([] {
    std::vector<size_t> lengths = {255, 1000, 1025};
    for (size_t cols = 1; cols <= 70; ++cols) lengths.push_back(cols);
    for (const size_t cols : lengths) {
      const std::vector<float> x = RandomRow(cols, static_cast<uint32_t>(cols), 3.0f, 5.0f);
      const std::vector<float> y = Probabilities(x);
      const reference::Row expected = reference::Softmax(Exactly(x));
      const float max = *std::max_element(x.begin(), x.end());
      long double sum = 0.0L;
      for (size_t i = 0; i < cols; ++i) {
        if (IsNormalF32(expected[i])) {
          const long double bound = 0x1p-24L * (6 + (max - x[i])) * expected[i];
          ASSERT_LE(std::abs(y[i] - expected[i]), bound) << i << " of " << cols;
        }
        sum += std::exp(static_cast<long double>(x[i]));
      }
      const long double lse = std::log(sum);
      ASSERT_NEAR(LogSum(x), static_cast<double>(lse), 0x1p-23 * std::abs(static_cast<double>(lse)) + 0x1p-22);
    }
  });
}

TEST(SoftmaxTest, HugeAndMaskedLogitsGiveRightFiniteProbabilities) {  // N27
  ForEachTarget([] {
    EXPECT_EQ(Probabilities({1e4f, -1e4f, 1e4f}), (std::vector<float>{0.5f, 0.0f, 0.5f}));
    EXPECT_EQ(Probabilities({1e30f, 0.0f, -1e30f}), (std::vector<float>{1.0f, 0.0f, 0.0f}));
    EXPECT_EQ(Probabilities({-3e38f, 3e38f}), (std::vector<float>{0.0f, 1.0f}));
    EXPECT_EQ(Probabilities({-kInf, 2.0f, -kInf, 2.0f, -kInf}), (std::vector<float>{0.0f, 0.5f, 0.0f, 0.5f, 0.0f}));
    EXPECT_EQ(Probabilities({-kInf, -kInf, -kInf}), (std::vector<float>{0.0f, 0.0f, 0.0f}));
    EXPECT_EQ(Probabilities({-kInf, -1e30f}), (std::vector<float>{0.0f, 1.0f}));
    EXPECT_EQ(LogSum({1e30f, 1e30f}), 1e30f);
    EXPECT_FLOAT_EQ(LogSum({-1e4f, -1e4f}), -1e4f + 0.6931472f);
    EXPECT_EQ(LogSum({-kInf, 7.0f}), 7.0f);
    EXPECT_EQ(LogSum({-kInf, -kInf}), -kInf);
    EXPECT_EQ(LogSum({kInf, 1.0f}), kInf);
  });
}

TEST(SoftmaxTest, NanStaysInItsRow) {
  ForEachTarget([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (size_t position = 0; position < 67; ++position) {
      for (const float bad : {nan, kInf}) {
        std::vector<float> x = RandomRow(2 * 67, 1);
        const std::vector<float> alone = Probabilities({x.begin() + 67, x.end()});
        x[position] = bad;
        float lse = 0.0f;
        LogSumExp(x.data(), 67, &lse, 1, 67);
        EXPECT_TRUE(std::isnan(bad) ? std::isnan(lse) : lse == kInf) << position;
        Softmax(x.data(), 67, 2, 67);
        for (size_t i = 0; i < 67; ++i) ASSERT_TRUE(std::isnan(x[i])) << position << " " << i;
        ASSERT_TRUE(SameBits(alone, {x.begin() + 67, x.end()}));
      }
    }
    EXPECT_TRUE(std::isnan(LogSum({-kInf, nan})));
    EXPECT_TRUE(std::isnan(LogSum({kInf, nan})));
  });
}

TEST(SoftmaxTest, TargetsThreadsAndStridesChangeNoBit) {
  const size_t rows = 200;
  const size_t cols = 500;
  const std::vector<float> x = RandomRow(rows * cols, 2, 0.0f, 4.0f);
  std::vector<float> expected;
  for (const std::string& target : SameBitsTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    for (const size_t threads : {1u, 2u, 3u, 8u}) {
      const size_t stride = cols + threads;
      std::vector<float> strided(rows * stride, -77.0f);
      for (size_t r = 0; r < rows; ++r) std::copy_n(&x[r * cols], cols, &strided[r * stride]);
      ParallelSoftmax(strided.data(), stride, rows, cols, threads);
      std::vector<float> y;
      for (size_t r = 0; r < rows; ++r) {
        y.insert(y.end(), &strided[r * stride], &strided[r * stride + cols]);
        for (size_t c = cols; c < stride; ++c) ASSERT_EQ(strided[r * stride + c], -77.0f);
      }
      if (expected.empty()) expected = y;
      ASSERT_TRUE(SameBits(expected, y)) << target << " " << threads;
    }
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST(SoftmaxTest, TouchesNothingOutsideOfARow) {
  ForEachTarget([] {
    for (const size_t cols : {1u, 15u, 17u, 63u, 65u, 100u, 1025u}) {
      for (const bool at_end : {false, true}) {
        GuardedBuffer<float> x(cols, at_end);
        std::fill_n(x.data(), cols, 1.0f);
        float lse = 0.0f;
        LogSumExp(x.data(), cols, &lse, 1, cols);
        EXPECT_NEAR(lse, 1.0 + std::log(static_cast<double>(cols)), 1e-5);
        Softmax(x.data(), cols, 1, cols);
        for (size_t i = 0; i < cols; ++i) ASSERT_NEAR(x.data()[i], 1.0 / static_cast<double>(cols), 1e-6);
      }
    }
  });
}

TEST(SoftmaxTest, ZeroRowsTouchNothing) {
  Softmax(nullptr, 0, 0, 8);
  LogSumExp(nullptr, 0, nullptr, 0, 8);
}

}  // namespace
}  // namespace prenorm
