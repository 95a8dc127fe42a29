// LayerNorm of rows: known values, the error bound whatever the mean, range, tails, same bits everywhere.
#include "prenorm/norm.h"

#include <gtest/gtest.h>

#include <array>

#include "prenorm/norm_parallel.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

constexpr const float* kNone = nullptr;

LayerNormOptions Eps(float eps, VarianceForm variance = VarianceForm::kTwoPass) {
  LayerNormOptions options;
  options.eps = eps;
  options.variance = variance;
  return options;
}

constexpr VarianceForm kForms[] = {VarianceForm::kTwoPass, VarianceForm::kSinglePass};

std::vector<float> Layer(const std::vector<float>& x, const LayerNormOptions& options, const float* gain = nullptr,
                         const float* bias = nullptr) {
  std::vector<float> y(x.size());
  LayerNorm(x.data(), x.size(), gain, bias, y.data(), x.size(), 1, x.size(), options);
  return y;
}

TEST(LayerNormTest, GivesKnownValuesFarFromZero) {  // N1
  ForEachTarget([] {
    for (const VarianceForm form : kForms) {
      const std::vector<float> y = Layer({40000, 40001, 40002, 40003}, Eps(1e-5f, form));
      const std::array<double, 4> expected = {-1.3416354, -0.4472118, 0.4472118, 1.3416354};
      for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], expected[i], 1e-6);
    }
  });
}

TEST(LayerNormTest, ConstantRowGivesExactlyTheBias) {  // N2, N7
  ForEachTarget([] {
    for (const size_t cols : {1u, 3u, 256u, 1000u, 5000u}) {
      const std::vector<float> bias = RandomRow(cols, 7);
      const std::vector<float> gain = RandomRow(cols, 8);
      for (const float value : {1234.0f, 0.1f, -3.3e30f, 3e38f, 1e-30f, 0.0f, 0x1p-149f}) {
        for (const VarianceForm form : kForms) {
          const std::vector<float> x(cols, value);
          ASSERT_TRUE(SameBits(Layer(x, Eps(1e-5f, form), gain.data(), bias.data()), bias)) << value << " " << cols;
          for (const float v : Layer(x, Eps(1e-12f, form))) ASSERT_EQ(v, 0.0f) << value << " " << cols;
          for (const float v : Layer(x, Eps(0.0f, form))) ASSERT_TRUE(std::isnan(v)) << value << " " << cols;
        }
      }
    }
  });
}

// |y - y*| <= 2^-24 (8 |g x_hat| + 24 |g| + 2 |b|).
void ExpectPromise(const std::vector<float>& x, float eps, VarianceForm form, const std::string& what) {
  const size_t cols = x.size();
  const std::vector<float> gain = RandomRow(cols, 71, 1.0f, 0.3f);
  const std::vector<float> bias = RandomRow(cols, 72);
  const std::vector<float> y = Layer(x, Eps(eps, form), gain.data(), bias.data());
  const reference::Row unit = reference::LayerNorm(Exactly(x), static_cast<long double>(eps));
  for (size_t i = 0; i < cols; ++i) {
    const long double g = gain[i];
    const long double b = bias[i];
    if (!std::isfinite(unit[i])) {
      ASSERT_TRUE(std::isnan(y[i])) << what;
      continue;
    }
    const long double bound = 0x1p-24L * (8 * std::abs(g * unit[i]) + 24 * std::abs(g) + 2 * std::abs(b));
    ASSERT_LE(std::abs(y[i] - (g * unit[i] + b)), bound) << what << " col " << i << " of " << cols << " eps " << eps;
  }
}

TEST(LayerNormTest, ErrorDoesNotGrowWithTheMean) {
  ForEachTarget([] {
    for (const size_t cols : {2u, 7u, 64u, 100u, 768u, 4096u, 65537u}) {
      for (const float kappa : {0.0f, 1.0f, 1e2f, 1e4f, 1e6f}) {
        for (const float sign : {1.0f, -1.0f}) {
          const std::vector<float> x = RandomRow(cols, static_cast<uint32_t>(cols), sign * kappa, 1.0f);
          for (const VarianceForm form : kForms) ExpectPromise(x, 1e-5f, form, "kappa " + std::to_string(kappa));
        }
      }
    }
  });
}

TEST(LayerNormTest, HoldsThePromiseOnTheCorpus) {
  ForEachTarget([] {
    for (const size_t cols : CorpusLengths()) {
      if (cols == 1) continue;  // Zero variance: the constant row.
      for (const NamedRow& row : CorpusRows(cols)) {
        for (const float eps : {0.0f, 1e-12f, 1e-5f}) {
          for (const VarianceForm form : kForms) ExpectPromise(row.x, eps, form, row.name);
        }
      }
    }
  });
}

template <typename X, typename Affine, typename Out>
void ExpectRightAtEveryLength() {
  const size_t rows = 7;
  std::vector<size_t> lengths = {769, 2561};
  for (size_t cols = 1; cols <= 130; ++cols) lengths.push_back(cols);
  for (const size_t cols : lengths) {
    const size_t x_stride = cols + 3;
    const size_t out_stride = cols + 11;
    std::vector<X> x(rows * x_stride, Narrow<X>(std::numeric_limits<float>::quiet_NaN()));
    const std::vector<X> values = Narrowed<X>(RandomRow(rows * cols, static_cast<uint32_t>(cols), 2.0f));
    for (size_t r = 0; r < rows; ++r) std::copy_n(&values[r * cols], cols, &x[r * x_stride]);
    const std::vector<Affine> gain = Narrowed<Affine>(RandomRow(cols, 17, 1.0f, 0.5f));
    const std::vector<Affine> bias = Narrowed<Affine>(RandomRow(cols, 18));
    // Each combination of the two in turn.
    const Affine* g = cols % 2 == 0 ? gain.data() : nullptr;
    const Affine* b = cols % 4 < 2 ? bias.data() : nullptr;
    std::vector<Out> out(rows * out_stride, Narrow<Out>(-77.0f));
    LayerNorm(x.data(), x_stride, g, b, out.data(), out_stride, rows, cols, Eps(1e-5f));
    for (size_t r = 0; r < rows; ++r) {
      const reference::Row unit = reference::LayerNorm(Exactly(&x[r * x_stride], cols), 1e-5f);
      for (size_t i = 0; i < cols; ++i) {
        const long double product = unit[i] * static_cast<long double>(g == nullptr ? 1.0f : Widen(g[i]));
        const long double expected = product + static_cast<long double>(b == nullptr ? 0.0f : Widen(b[i]));
        const float actual = Widen(out[r * out_stride + i]);
        const long double rounding = std::is_same_v<Out, bf16> ? std::abs(expected) * 0x1.01p-8L : 0.0L;
        ASSERT_LE(std::abs(actual - expected), 2e-6L * (1 + std::abs(product)) + rounding)
            << "row " << r << " col " << i << " of " << cols;
      }
      for (size_t i = cols; i < out_stride; ++i) ASSERT_EQ(Widen(out[r * out_stride + i]), -77.0f);
    }
  }
}

TEST(LayerNormTest, EveryLengthStrideAndVariantIsRightAndLeavesGapsAlone) {  // N11, N13
  ForEachTarget([] {
#define PRENORM_NORM(X, AFFINE, OUT) ExpectRightAtEveryLength<X, AFFINE, OUT>();
#include "kernels/variants.inc"
  });
}

template <typename X, typename Affine, typename Out>
void ExpectNoOverRead() {
  for (const size_t cols : {1u, 3u, 17u, 63u, 65u, 100u, 1025u}) {
    for (const bool at_end : {false, true}) {
      GuardedBuffer<X> x(cols, at_end);
      GuardedBuffer<Affine> gain(cols, at_end);
      GuardedBuffer<Affine> bias(cols, at_end);
      GuardedBuffer<Out> out(cols, at_end);
      std::fill_n(x.data(), cols, Narrow<X>(1.0f));
      std::fill_n(gain.data(), cols, Narrow<Affine>(2.0f));
      std::fill_n(bias.data(), cols, Narrow<Affine>(3.0f));
      for (const VarianceForm form : kForms) {
        LayerNorm(x.data(), cols, gain.data(), bias.data(), out.data(), cols, 1, cols, Eps(1e-5f, form));
        for (size_t i = 0; i < cols; ++i) ASSERT_EQ(Widen(out.data()[i]), 3.0f);
      }
      x.data()[cols / 2] = Narrow<X>(1e30f);  // The path that scales.
      LayerNorm(x.data(), cols, gain.data(), bias.data(), out.data(), cols, 1, cols, Eps(1e-5f));
      ASSERT_TRUE(std::isfinite(Widen(out.data()[cols / 2])));
    }
  }
}

TEST(LayerNormTest, TouchesNothingOutsideOfARow) {
  ForEachTarget([] {
#define PRENORM_NORM(X, AFFINE, OUT) ExpectNoOverRead<X, AFFINE, OUT>();
#include "kernels/variants.inc"
  });
}

TEST(LayerNormTest, NanOrInfMakesItsRowNanAndNoOther) {  // N9
  ForEachTarget([] {
    const float inf = std::numeric_limits<float>::infinity();
    for (const size_t cols : {1u, 16u, 67u}) {
      const std::vector<float> good = RandomRow(3 * cols, 4);
      std::vector<float> good_out(good.size());
      LayerNorm(good.data(), cols, kNone, kNone, good_out.data(), cols, 3, cols, Eps(1e-6f));
      for (size_t position = 0; position < cols; ++position) {
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) {
          std::vector<float> x = good;
          x[cols + position] = bad;
          std::vector<float> y(x.size());
          LayerNorm(x.data(), cols, kNone, kNone, y.data(), cols, 3, cols, Eps(1e-6f));
          ASSERT_EQ(0, std::memcmp(y.data(), good_out.data(), cols * sizeof(float)));
          ASSERT_EQ(0, std::memcmp(&y[2 * cols], &good_out[2 * cols], cols * sizeof(float)));
          for (size_t i = 0; i < cols; ++i) ASSERT_TRUE(std::isnan(y[cols + i])) << "position " << position;
        }
      }
    }
  });
}

TEST(LayerNormTest, TargetsThreadsAddressesAndAliasingChangeNoBit) {  // N12
  const size_t rows = 97;
  for (const size_t cols : {5u, 64u, 100u, 576u, 1500u}) {
    const std::vector<float> x = RandomRow(rows * cols, 3, 10.0f);
    const std::vector<float> gain = RandomRow(cols, 4, 1.0f, 0.3f);
    const std::vector<float> bias = RandomRow(cols, 5);
    for (const VarianceForm form : kForms) {
      std::vector<float> expected;
      for (const std::string& target : SameBitsTargets()) {
        ASSERT_TRUE(ForceTarget(target).ok());
        std::vector<float> y(x.size());
        LayerNorm(x.data(), cols, gain.data(), bias.data(), y.data(), cols, rows, cols, Eps(1e-5f, form));
        if (expected.empty()) expected = y;
        ASSERT_TRUE(SameBits(expected, y)) << target << " " << cols;
        for (const size_t threads : {1u, 2u, 3u, 8u}) {
          std::vector<float> z(x.size() + threads);
          std::copy(x.begin(), x.end(), &z[threads]);
          ParallelLayerNorm(&z[threads], cols, gain.data(), bias.data(), &z[threads], cols, rows, cols,
                            Eps(1e-5f, form), threads);
          ASSERT_EQ(0, std::memcmp(&z[threads], expected.data(), expected.size() * sizeof(float))) << target;
        }
      }
      ASSERT_TRUE(ForceTarget("").ok());
    }
  }
}

TEST(LayerNormTest, ShiftAndScaleCancel) {
  ForEachTarget([] {
    const std::vector<float> x = RandomRow(300, 5);
    const std::vector<float> y = Layer(x, Eps(0.0f));
    std::vector<float> doubled = x;
    for (float& v : doubled) v *= 0x1p20f;
    EXPECT_TRUE(SameBits(y, Layer(doubled, Eps(0.0f))));
    // LN(c x; c^2 eps) = LN(x; eps).
    EXPECT_TRUE(SameBits(Layer(x, Eps(0x1p-18f)), Layer(doubled, Eps(0x1p22f))));
    std::vector<float> moved = x;
    for (float& v : moved) v = 3.0f * v + 5.0f;
    const std::vector<float> z = Layer(moved, Eps(0.0f));
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(z[i], y[i], 1e-5);
  });
}

TEST(LayerNormTest, Bf16AffineEqualsF32AffineOfTheSameValues) {  // N17
  const size_t cols = 131;
  const std::vector<float> x = RandomRow(cols, 41);
  const std::vector<bf16> gain16 = Narrowed<bf16>(RandomRow(cols, 42));
  const std::vector<bf16> bias16 = Narrowed<bf16>(RandomRow(cols, 43));
  std::vector<float> gain;
  std::vector<float> bias;
  for (const bf16 v : gain16) gain.push_back(ToF32(v));
  for (const bf16 v : bias16) bias.push_back(ToF32(v));
  ForEachTarget([&] {
    std::vector<float> a(cols);
    std::vector<float> b(cols);
    LayerNorm(x.data(), cols, gain16.data(), bias16.data(), a.data(), cols, 1, cols, Eps(1e-6f));
    LayerNorm(x.data(), cols, gain.data(), bias.data(), b.data(), cols, 1, cols, Eps(1e-6f));
    EXPECT_TRUE(SameBits(a, b));
  });
}

// 1 + 131/256 lies at the middle between two bf16 numbers, 1 + 65/128 and the even one, 1 + 66/128. x^ is 1, or below 1
// by eps / (2 sigma^2), far less than f32 can hold; and so for -1 with a negative bias.
template <typename X>
void ExpectMiddlesDecidedBySmallestParts(float low, float high) {
  const size_t cols = 38;
  std::vector<X> x;
  for (size_t i = 0; i < cols; ++i) x.push_back(Narrow<X>(i % 2 == 0 ? high : low));
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<bf16> gain(cols, ToBf16(1.0f)), bias(cols, ToBf16(sign * 131.0f / 256));
    for (const float eps : {0.0f, 1e-12f}) {
      std::vector<bf16> y = Narrowed<bf16>(std::vector<float>(cols));
      LayerNorm(x.data(), cols, gain.data(), bias.data(), y.data(), cols, 1, cols, Eps(eps));
      const float middle = eps > 0.0f ? 1.0f + 65.0f / 128 : 1.0f + 66.0f / 128;
      for (size_t i = 0; i < cols; ++i) {
        const float x_hat = i % 2 == 0 ? 1.0f : -1.0f;
        const float expected = x_hat == sign ? sign * middle : x_hat + sign * 131.0f / 256;
        ASSERT_EQ(ToF32(y[i]), expected) << low << " and " << high << " eps " << eps << " col " << i;
      }
    }
  }
}

TEST(LayerNormTest, RowsOfTwoValuesIntoBf16AreDecidedBeyondF32) {
  ExpectMiddlesDecidedBySmallestParts<float>(-3.3f, 3.3f);
  ExpectMiddlesDecidedBySmallestParts<bf16>(-3.3f, 3.3f);
  ExpectMiddlesDecidedBySmallestParts<float>(1e4f, 1e4f + 7.0f);
  ExpectMiddlesDecidedBySmallestParts<bf16>(-1e6f, 40.0f);
}

TEST(LayerNormTest, ZeroRowsTouchNothing) {
  LayerNorm(kNone, 0, kNone, kNone, static_cast<float*>(nullptr), 0, 0, 8, Eps(1e-6f));
}

}  // namespace
}  // namespace prenorm
