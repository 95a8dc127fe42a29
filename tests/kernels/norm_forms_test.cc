// Compositions of norms against their papers' formulas in long double.
#include "prenorm/norm_forms.h"

#include <gtest/gtest.h>

#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

constexpr size_t kLengths[] = {2, 7, 16, 65, 100, 1500};
constexpr size_t kRows = 4;

LayerNormOptions Eps(float eps) {
  LayerNormOptions options;
  options.eps = eps;
  return options;
}

// expected(row, col, x_hat of the row) for every element; the result may be off by some roundings, and one of bf16.
template <typename X, class Expected>
void ExpectNear(const std::vector<X>& x, const std::vector<X>& y, size_t stride, size_t cols,
                const Expected& expected) {
  for (size_t r = 0; r < kRows; ++r) {
    const reference::Row unit = reference::LayerNorm(Exactly(&x[r * stride], cols), 1e-5L);
    for (size_t c = 0; c < cols; ++c) {
      const long double e = expected(r, c, unit[c]);
      const long double rounding = std::is_same_v<X, bf16> ? 0x1.01p-8L * std::abs(e) : 0.0L;
      ASSERT_LE(std::abs(Widen(y[r * stride + c]) - e), rounding + 3e-6L * (1 + std::abs(e)))
          << "row " << r << " col " << c << " of " << cols;
    }
    for (size_t c = cols; c < stride; ++c) ASSERT_EQ(Widen(y[r * stride + c]), -77.0f);
  }
}

template <typename X>
std::vector<X> Rows(size_t stride, size_t cols, uint32_t seed) {
  std::vector<X> x = Narrowed<X>(RandomRow(kRows * stride, seed, 1.5f));
  for (size_t r = 0; r < kRows; ++r) std::fill(&x[r * stride + cols], &x[r * stride] + stride, Narrow<X>(-77.0f));
  return x;
}

template <typename X>
void ExpectForms() {
  for (const size_t cols : kLengths) {
    const size_t stride = cols + 3;
    const std::vector<X> x = Rows<X>(stride, cols, 1);
    const std::vector<X> f = Rows<X>(stride, cols, 2);
    const std::vector<float> gain = RandomRow(2 * cols, 3, 1.0f, 0.5f);
    const std::vector<float> bias = RandomRow(2 * cols, 4);
    const auto wide = [](const std::vector<float>& v, size_t i) { return static_cast<long double>(v[i]); };

    std::vector<X> y = x;  // In place.
    ScaleNorm(y.data(), stride, 3.0f, y.data(), stride, kRows, cols, 1e-5f);
    ExpectNear(x, y, stride, cols, [&](size_t r, size_t c, long double) {
      long double squares = 0.0L;
      for (const long double v : Exactly(&x[r * stride], cols)) squares += v * v;
      return 3.0L * Widen(x[r * stride + c]) / std::sqrt(squares + 1e-5L);
    });

    y = x;
    SandwichNorm(y.data(), stride, f.data(), stride, gain.data(), bias.data(), y.data(), stride, kRows, cols,
                 Eps(1e-5f));
    ExpectNear(f, y, stride, cols, [&](size_t r, size_t c, long double x_hat) {
      return Widen(x[r * stride + c]) + (wide(gain, c) * x_hat + wide(bias, c));
    });

    y = x;
    AdaNorm(y.data(), stride, 2.0f, 0.1f, y.data(), stride, kRows, cols, Eps(1e-5f));
    ExpectNear(x, y, stride, cols, [&](size_t, size_t, long double x_hat) {
      return 2.0L * (1.0L - static_cast<long double>(0.1f) * x_hat) * x_hat;
    });

    for (const GainForm form : {GainForm::kGain, GainForm::kOnePlusGain}) {
      y = x;
      AdaptiveLayerNorm(y.data(), stride, gain.data(), bias.data(), 2, form, y.data(), stride, kRows, cols, Eps(1e-5f));
      ExpectNear(x, y, stride, cols, [&](size_t r, size_t c, long double x_hat) {
        const long double g = wide(gain, r / 2 * cols + c) + (form == GainForm::kOnePlusGain ? 1.0L : 0.0L);
        return g * x_hat + wide(bias, r / 2 * cols + c);
      });
      y = x;
      AdaptiveLayerNorm(y.data(), stride, nullptr, nullptr, 2, form, y.data(), stride, kRows, cols, Eps(1e-5f));
      ExpectNear(x, y, stride, cols, [&](size_t, size_t, long double x_hat) { return x_hat; });
    }
  }
}

TEST(NormFormsTest, FollowTheirPapersInPlaceAndLeaveGapsAlone) {
  ForEachTarget([] {
    ExpectForms<float>();
    ExpectForms<bf16>();
  });
}

TEST(NormFormsTest, PowerNormEvalDividesByTheRunningQuadraticMean) {
  ForEachTarget([] {
    const std::vector<float> x = RandomRow(5 * 7, 1), gain = RandomRow(7, 2), bias = RandomRow(7, 3);
    std::vector<float> psi2 = RandomRow(7, 4);
    for (float& v : psi2) v = v * v + 0.5f;
    std::vector<float> y(x.size());
    PowerNormEval(x.data(), 7, gain.data(), bias.data(), psi2.data(), y.data(), 7,
                  {5, 7, 1, ChannelOrder::kChannelsLast}, 1e-5f);
    for (size_t i = 0; i < x.size(); ++i) {
      const double psi = std::sqrt(static_cast<double>(psi2[i % 7]) + 1e-5);
      ASSERT_NEAR(y[i], gain[i % 7] * x[i] / psi + bias[i % 7], 1e-6);
    }
  });
}

TEST(NormFormsTest, ExtremeRowsAreRight) {
  ForEachTarget([] {
    std::vector<float> x = RandomRow(50, 1);
    for (float& v : x) v *= 1e36f;
    std::vector<float> y(50);
    ScaleNorm(x.data(), 50, 1.0f, y.data(), 50, 1, 50, 1e-5f);
    double squares = 0.0;
    for (const float v : y) squares += static_cast<double>(v) * v;
    EXPECT_NEAR(squares, 1.0, 1e-6);
    AdaNorm(x.data(), 50, 1.0f, 0.1f, y.data(), 50, 1, 50, Eps(1e-5f));
    const reference::Row unit = reference::LayerNorm(Exactly(x), 1e-5L);
    for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(y[i], static_cast<double>((1 - 0.1L * unit[i]) * unit[i]), 2e-6);
  });
}

TEST(NormFormsTest, TargetsAgreeToTheBit) {
  const std::vector<float> x = RandomRow(333, 1, 3.0f), f = RandomRow(333, 2), gain = RandomRow(333, 3);
  std::vector<float> expected;
  for (const std::string& target : SameBitsTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    std::vector<float> y(333 * 4);
    ScaleNorm(x.data(), 333, 2.0f, &y[0], 333, 1, 333, 1e-5f);
    SandwichNorm(x.data(), 333, f.data(), 333, gain.data(), gain.data(), &y[333], 333, 1, 333, Eps(1e-5f));
    AdaNorm(x.data(), 333, 1.0f, 0.1f, &y[666], 333, 1, 333, Eps(1e-5f));
    AdaptiveLayerNorm(x.data(), 333, gain.data(), nullptr, 1, GainForm::kOnePlusGain, &y[999], 333, 1, 333, Eps(1e-5f));
    if (expected.empty()) expected = y;
    ASSERT_TRUE(SameBits(expected, y)) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
