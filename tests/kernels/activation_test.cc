// Activations, soft cap, sum and scaling against long double, on every target of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
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
constexpr Gate kGates[] = {Gate::kSilu, Gate::kGeluTanh, Gate::kGeluErf, Gate::kRelu, Gate::kReluSquared};

class ActivationTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(ForceTarget(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }
};
INSTANTIATE_TEST_SUITE_P(Targets, ActivationTest, ::testing::ValuesIn(RunnableTargets()));

long double Exact(Gate act, float value) {
  const long double x = value;
  switch (act) {
    case Gate::kSilu:
      return x / (1.0L + std::exp(-x));
    // 1 + tanh(u) = 2 / (1 + e^-2u): the definition itself cancels even in long double.
    case Gate::kGeluTanh: {
      const long double u = std::sqrt(2.0L / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
      return x / (1.0L + std::exp(-2.0L * u));
    }
    case Gate::kGeluErf:
      return 0.5L * x * std::erfc(-x / std::sqrt(2.0L));
    case Gate::kRelu:
      return std::max(x, 0.0L);
    case Gate::kReluSquared:
      return x > 0.0L ? x * x : 0.0L;
  }
  return 0.0L;
}

// In units of the last place of the exact result; below the normals the unit is 2^-149.
double UlpError(float actual, long double exact) {
  if (static_cast<long double>(actual) == exact) return 0.0;
  const int exponent = exact == 0.0L ? -126 : std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / std::ldexp(1.0L, exponent - 23));
}

// Both signs, 2^-40 to `top`, in steps that visit all parts of the mantissa.
std::vector<float> Sweep(float top) {
  std::vector<float> x = {0.0f, -0.0f};
  for (uint32_t bits = 0x2B800000u; std::bit_cast<float>(bits) < top; bits += 20011u) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  return x;
}

TEST_P(ActivationTest, IsAccurate) {
  const std::vector<float> x = Sweep(120.0f);
  for (const Gate act : kGates) {
    std::vector<float> out(x.size());
    Activation(act, x.data(), out.data(), x.size());
    double worst = 0.0;
    double worst_tail = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      double& place = x[i] < -1.0f ? worst_tail : worst;
      place = std::max(place, UlpError(out[i], Exact(act, x[i])));
    }
    RecordProperty("worst_ulp_" + std::to_string(static_cast<int>(act)), std::to_string(worst));
    RecordProperty("worst_tail_ulp_" + std::to_string(static_cast<int>(act)), std::to_string(worst_tail));
    EXPECT_LE(worst, 7.0) << static_cast<int>(act);
    EXPECT_LE(worst_tail, 160.0) << static_cast<int>(act);
  }
}

TEST_P(ActivationTest, GivesTheValuesOfTheTextbooks) {  // N28
  const float one = 1.0f;
  float out = 0.0f;
  Activation(Gate::kGeluErf, &one, &out, 1);
  EXPECT_NEAR(out, 0.8413447f, 1e-7f);
  Activation(Gate::kGeluTanh, &one, &out, 1);
  EXPECT_NEAR(out, 0.8411920f, 1e-7f);
  Activation(Gate::kSilu, &one, &out, 1);
  EXPECT_NEAR(out, 0.7310586f, 1e-7f);
}

TEST_P(ActivationTest, KeepsLimitsAndNaN) {
  for (const Gate act : kGates) {
    const std::vector<float> x = {kInf, -kInf, kNaN, 1e30f, -1e30f, 1e15f, -1e15f};
    std::vector<float> out(x.size());
    Activation(act, x.data(), out.data(), x.size());
    EXPECT_EQ(out[0], kInf);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], act == Gate::kReluSquared ? kInf : 1e30f);
    EXPECT_EQ(out[4], 0.0f);
    EXPECT_EQ(out[6], 0.0f);
  }
}

TEST_P(ActivationTest, GatedIsTheProductInAnyPlaceAndInPlace) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (const Gate act : kGates) {
    for (size_t n = 0; n <= 70; ++n) {
      std::vector<float> gate(n), up(n), expected(n), out(n + 1, 42.0f);
      for (size_t i = 0; i < n; ++i) {
        gate[i] = normal(random);
        up[i] = normal(random);
        Activation(act, &gate[i], &expected[i], 1);
        expected[i] *= up[i];
      }
      GatedActivation(act, gate.data(), up.data(), out.data(), n);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin())) << n;
      EXPECT_EQ(out[n], 42.0f);
      std::vector<float> in_place = up;
      GatedActivation(act, gate.data(), in_place.data(), in_place.data(), n);
      ASSERT_EQ(in_place, expected);
      GatedActivation(act, gate.data(), up.data(), gate.data(), n);
      ASSERT_EQ(gate, expected);
    }
  }
}

TEST_P(ActivationTest, SoftCapIsAccurate) {  // F24
  for (const float cap : {1.0f, 30.0f, 50.0f}) {
    const std::vector<float> x = Sweep(1000.0f);
    std::vector<float> out = x;
    SoftCap(out.data(), out.size(), cap);
    double worst = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = cap * std::tanh(static_cast<long double>(x[i]) / cap);
      worst = std::max(worst, UlpError(out[i], exact));
    }
    RecordProperty("worst_ulp", std::to_string(worst));
    EXPECT_LE(worst, 3.0) << cap;
  }
  std::vector<float> x = {60.0f, kInf, -kInf, kNaN, 1e30f, -0.0f};
  SoftCap(x.data(), x.size(), 30.0f);
  EXPECT_NEAR(x[0], 28.920827f, 4e-6f);
  EXPECT_EQ(x[1], 30.0f);
  EXPECT_EQ(x[2], -30.0f);
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_EQ(x[4], 30.0f);
  EXPECT_TRUE(x[5] == 0.0f && std::signbit(x[5]));
}

TEST_P(ActivationTest, AddsAndScalesInPlace) {
  for (size_t n = 0; n <= 70; ++n) {
    std::vector<float> x(n + 1), y(n), expected(n + 1);
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i) * 0.37f;
      y[i] = 1.0f / static_cast<float>(i + 1);
      expected[i] = (x[i] + y[i]) * 0.3f;
    }
    x[n] = expected[n] = 42.0f;
    AddInPlace(x.data(), y.data(), n);
    ScaleInPlace(x.data(), 0.3f, n);
    ASSERT_EQ(x, expected);
  }
}

TEST(ActivationTargetsTest, TargetsWithFusedMultiplyAddGiveTheSameBits) {
  const std::vector<float> x = Sweep(120.0f);
  for (const Gate act : kGates) {
    std::vector<float> first;
    for (const std::string& target : RunnableTargets()) {
      if (target != "AVX2" && target.rfind("AVX3", 0) != 0) continue;
      ASSERT_TRUE(ForceTarget(target).ok());
      std::vector<float> out(x.size());
      Activation(act, x.data(), out.data(), x.size());
      if (first.empty()) first = out;
      EXPECT_EQ(0, std::memcmp(first.data(), out.data(), out.size() * sizeof(float))) << target;
    }
    ASSERT_TRUE(ForceTarget("").ok());
  }
}

}  // namespace
}  // namespace prenorm
