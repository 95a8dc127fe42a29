// Residual sum and norm in one go: equal to the sum followed by the norm, in every form, aliasing and type.
#include <gtest/gtest.h>

#include "prenorm/norm.h"
#include "prenorm/norm_parallel.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

constexpr ResidualForm kForms[] = {ResidualForm::kPlain, ResidualForm::kScaledInput, ResidualForm::kScaledBranch,
                                   ResidualForm::kLayerScale};

RmsNormOptions RmsEps(float eps) {
  RmsNormOptions options;
  options.eps = eps;
  return options;
}
LayerNormOptions LayerEps(float eps) {
  LayerNormOptions options;
  options.eps = eps;
  return options;
}

// The sum with one rounding to f32 (two on targets without FMA: one more ULP of the larger term is allowed there).
double ExactSum(ResidualForm form, double x, double f, double alpha, double lambda) {
  switch (form) {
    case ResidualForm::kPlain:
      return x + f;
    case ResidualForm::kScaledInput:
      return alpha * x + f;
    case ResidualForm::kScaledBranch:
      return x + alpha * f;
    case ResidualForm::kLayerScale:
      return x + lambda * f;
  }
  return 0.0;
}

enum class Alias { kNone, kSumIsX, kSumIsF, kOutIsF };

// One variant: the stored sum is the exact one rounded, and `out` has the bits of the norm of that sum (up to the
// statistics of an unrounded 16-bit sum, within a step of bf16).
template <typename X, typename Affine, typename Out>
void ExpectSumThenNorm() {
  const size_t rows = 3;
  for (const size_t cols : {1u, 15u, 64u, 100u, 1500u}) {
    const size_t count = rows * cols;
    const std::vector<X> x = Narrowed<X>(RandomRow(count, 1));
    const std::vector<X> f = Narrowed<X>(RandomRow(count, 2));
    const std::vector<float> lambda = RandomRow(cols, 3, 0.0f, 0.1f);
    const std::vector<Affine> gain = Narrowed<Affine>(RandomRow(cols, 4, 1.0f, 0.3f));
    const std::vector<Affine> bias = Narrowed<Affine>(RandomRow(cols, 5));
    for (const ResidualForm form : kForms) {
      for (const ResidualStatistics statistics : {ResidualStatistics::kUnroundedSum, ResidualStatistics::kRoundedSum}) {
        Residual residual{form, 0.71f, lambda.data(), statistics};
        std::vector<X> first_sum;
        std::vector<Out> first_rms;
        for (const Alias alias : {Alias::kNone, Alias::kSumIsX, Alias::kSumIsF, Alias::kOutIsF}) {
          for (const bool layer : {false, true}) {
            std::vector<X> x_copy = x;
            std::vector<X> f_copy = f;
            std::vector<X> own_sum(count);
            std::vector<Out> own_out(count);
            X* sum = alias == Alias::kSumIsX ? x_copy.data() : alias == Alias::kSumIsF ? f_copy.data() : own_sum.data();
            Out* out = own_out.data();
            if constexpr (std::is_same_v<X, Out>) {
              if (alias == Alias::kOutIsF) out = f_copy.data();
            }
            std::vector<Out> expected(count);
            if (layer) {
              ResidualLayerNorm(x_copy.data(), cols, f_copy.data(), cols, sum, cols, gain.data(), bias.data(), out,
                                cols, rows, cols, residual, LayerEps(1e-5f));
              LayerNorm(sum, cols, gain.data(), bias.data(), expected.data(), cols, rows, cols, LayerEps(1e-5f));
            } else {
              ResidualRmsNorm(x_copy.data(), cols, f_copy.data(), cols, sum, cols, gain.data(), out, cols, rows, cols,
                              residual, RmsEps(1e-5f));
              RmsNorm(sum, cols, gain.data(), expected.data(), cols, rows, cols, RmsEps(1e-5f));
            }
            for (size_t i = 0; i < count; ++i) {
              const double exact = ExactSum(form, Widen(x[i]), Widen(f[i]), 0.71f, lambda[i % cols]);
              const double bound = std::is_same_v<X, bf16> ? std::abs(exact) * 0x1.01p-8 : std::abs(exact) * 0x1p-23;
              ASSERT_NEAR(Widen(sum[i]), exact, bound + 0x1p-22);
              if (std::is_same_v<X, float> || statistics == ResidualStatistics::kRoundedSum) {
                ASSERT_EQ(Widen(out[i]), Widen(expected[i])) << "col " << i % cols << " of " << cols;
              } else if (cols > 1) {  // LayerNorm of one element is nothing but the rounding of its sum.
                ASSERT_NEAR(Widen(out[i]), Widen(expected[i]), 0.02 * (1 + std::abs(Widen(expected[i]))));
              }
            }
            if (layer) continue;
            const std::vector<X> this_sum(sum, sum + count);
            const std::vector<Out> this_out(out, out + count);
            if (first_sum.empty()) {
              first_sum = this_sum;
              first_rms = this_out;
            }
            ASSERT_TRUE(SameBits(first_sum, this_sum) && SameBits(first_rms, this_out)) << "aliasing";
          }
        }
      }
    }
  }
}

TEST(ResidualNormTest, EqualsTheSumFollowedByTheNorm) {
  ForEachTarget([] {
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT) ExpectSumThenNorm<X, AFFINE, OUT>();
#include "kernels/variants.inc"
  });
}

TEST(ResidualNormTest, StatisticsSeeTheSumThatIsNamed) {
  ForEachTarget([] {
    // 1 + 2^-9 is halfway to the next bf16 and rounds to 1.
    const size_t cols = 64;
    const std::vector<bf16> x(cols, ToBf16(1.0f));
    const std::vector<bf16> f(cols, ToBf16(0x1p-9f));
    std::vector<bf16> sum(cols);
    const std::vector<float> gain(cols, 0x1.014p+0f);  // Rounds up to the bf16 after 1; divided by 1 + 2^-9, down.
    std::vector<bf16> rounded(cols);
    std::vector<bf16> unrounded(cols);
    Residual residual;
    ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gain.data(), unrounded.data(), cols, 1, cols,
                    residual, RmsEps(0.0f));
    residual.statistics = ResidualStatistics::kRoundedSum;
    ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gain.data(), rounded.data(), cols, 1, cols,
                    residual, RmsEps(0.0f));
    for (size_t i = 0; i < cols; ++i) {
      ASSERT_EQ(ToF32(sum[i]), 1.0f);
      ASSERT_EQ(rounded[i].bits, ToBf16(0x1.014p+0f).bits);
      ASSERT_EQ(unrounded[i].bits, ToBf16(1.0f).bits);
    }
  });
}

TEST(ResidualNormTest, HugeRowsAndStridesOfTheirOwnAreRight) {
  ForEachTarget([] {
    const size_t rows = 3;
    const size_t cols = 5;
    std::vector<float> x(rows * 8, -1.0f);
    std::vector<float> f(rows * 11, -1.0f);
    std::vector<float> sum(rows * 16, -77.0f);
    std::vector<float> out(rows * 7, -77.0f);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; ++c) {
        x[r * 8 + c] = 1e30f * static_cast<float>(c + 1);
        f[r * 11 + c] = 1e30f;
      }
    }
    ResidualRmsNorm(x.data(), 8, f.data(), 11, sum.data(), 16, static_cast<const float*>(nullptr), out.data(), 7, rows,
                    cols, Residual{}, RmsEps(1e-6f));
    const reference::Row expected = reference::RmsNorm({2, 3, 4, 5, 6}, 0.0L);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; ++c) {
        EXPECT_NEAR(out[r * 7 + c], static_cast<double>(expected[c]), 1e-6);
        EXPECT_EQ(sum[r * 16 + c], x[r * 8 + c] + 1e30f);
      }
      for (size_t c = cols; c < 16; ++c) EXPECT_EQ(sum[r * 16 + c], -77.0f);
      for (size_t c = cols; c < 7; ++c) EXPECT_EQ(out[r * 7 + c], -77.0f);
    }
  });
}

// Rows that begin at cache lines, as many as are written past the caches.
template <typename T>
struct ManyRows {
  static constexpr size_t kRows = 16800 / sizeof(T), kCols = 1000, kStride = 1024;
  ManyRows() : data(kRows * kStride + 64, Narrow<T>(-7.0f)) {}
  T* begin() {
    const size_t lead = (64 - reinterpret_cast<uintptr_t>(data.data()) % 64) % 64 / sizeof(T);
    return data.data() + lead;
  }
  std::vector<T> data;
};

template <typename X>
void ExpectBitsOfSingleRows(size_t rows) {
  ManyRows<X> x, f, sum, out, one_sum, one_out;
  const size_t cols = x.kCols, stride = x.kStride;
  const std::vector<float> gain = RandomRow(cols, 1, 1.0f, 0.3f);
  const std::vector<float> bias = RandomRow(cols, 2);
  const std::vector<X> block = Narrowed<X>(RandomRow(4099, 3));
  for (size_t i = 0; i < rows * stride; ++i) {
    x.begin()[i] = block[i % block.size()];
    f.begin()[i] = block[i % 4001];
  }
  // A row whose squares overflow, and whose magnitudes differ, so that it takes the path of the others.
  for (size_t c = 0; c < cols; ++c) x.begin()[5 * stride + c] = Narrow<X>(c % 3 == 0 ? 1e30f : -3e30f);
  const auto expect_same = [&](const char* what) {
    for (size_t r = 0; r < rows; ++r) {
      ASSERT_EQ(std::memcmp(out.begin() + r * stride, one_out.begin() + r * stride, stride * sizeof(X)), 0)
          << what << r;
    }
  };
  RmsNorm(x.begin(), stride, gain.data(), out.begin(), stride, rows, cols, RmsEps(1e-5f));
  for (size_t r = 0; r < rows; ++r) {
    RmsNorm(x.begin() + r * stride, stride, gain.data(), one_out.begin() + r * stride, stride, 1, cols, RmsEps(1e-5f));
  }
  expect_same("RmsNorm, row ");
  LayerNorm(x.begin(), stride, gain.data(), bias.data(), out.begin(), stride, rows, cols, LayerEps(1e-5f));
  for (size_t r = 0; r < rows; ++r) {
    LayerNorm(x.begin() + r * stride, stride, gain.data(), bias.data(), one_out.begin() + r * stride, stride, 1, cols,
              LayerEps(1e-5f));
  }
  expect_same("LayerNorm, row ");
  const Residual residual{ResidualForm::kScaledInput, 0.71f, nullptr, ResidualStatistics::kUnroundedSum};
  ResidualRmsNorm(x.begin(), stride, f.begin(), stride, sum.begin(), stride, gain.data(), out.begin(), stride, rows,
                  cols, residual, RmsEps(1e-5f));
  for (size_t r = 0; r < rows; ++r) {
    const size_t at = r * stride;
    ResidualRmsNorm(x.begin() + at, stride, f.begin() + at, stride, one_sum.begin() + at, stride, gain.data(),
                    one_out.begin() + at, stride, 1, cols, residual, RmsEps(1e-5f));
  }
  expect_same("ResidualRmsNorm, row ");
  std::swap(out, sum);
  std::swap(one_out, one_sum);
  expect_same("sum, row ");
}

TEST(ResidualNormTest, MuchDataHasTheBitsOfSingleRows) {
  ForEachTarget([] {
    ExpectBitsOfSingleRows<float>(ManyRows<float>::kRows);
    ExpectBitsOfSingleRows<bf16>(ManyRows<bf16>::kRows);
    // So many that the next row is fetched, and no more.
    ExpectBitsOfSingleRows<float>(80);
    ExpectBitsOfSingleRows<bf16>(80);
  });
}

TEST(ResidualNormTest, TouchesNothingOutsideOfARow) {
  ForEachTarget([] {
    for (const size_t cols : {1u, 17u, 63u, 100u, 1025u}) {
      for (const bool at_end : {false, true}) {
        GuardedBuffer<float> x(cols, at_end), f(cols, at_end), lambda(cols, at_end), sum(cols, at_end);
        GuardedBuffer<bf16> out(cols, at_end);
        std::fill_n(x.data(), cols, 1.0f);
        std::fill_n(f.data(), cols, 1.0f);
        std::fill_n(lambda.data(), cols, 3.0f);
        const Residual residual{ResidualForm::kLayerScale, 1.0f, lambda.data(), ResidualStatistics::kUnroundedSum};
        ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, static_cast<const float*>(nullptr),
                        out.data(), cols, 1, cols, residual, RmsEps(0.0f));
        for (size_t i = 0; i < cols; ++i) ASSERT_EQ(ToF32(out.data()[i]), 1.0f);
        for (size_t i = 0; i < cols; ++i) ASSERT_EQ(sum.data()[i], 4.0f);
      }
    }
  });
}

TEST(ResidualNormTest, TargetsAndThreadsChangeNoBit) {
  const size_t rows = 150;
  const size_t cols = 700;
  const std::vector<float> x = RandomRow(rows * cols, 1);
  const std::vector<float> f = RandomRow(rows * cols, 2);
  const std::vector<float> gain = RandomRow(cols, 3);
  const Residual residual{ResidualForm::kScaledInput, 1.7f, nullptr, ResidualStatistics::kUnroundedSum};
  std::vector<float> expected;
  for (const std::string& target : SameBitsTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    for (const size_t threads : {1u, 2u, 3u, 8u}) {
      std::vector<float> sum(x.size());
      std::vector<float> y(x.size());
      ParallelResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gain.data(), y.data(), cols, rows, cols,
                              residual, RmsEps(1e-6f), threads);
      if (expected.empty()) expected = y;
      ASSERT_TRUE(SameBits(expected, y)) << target << " " << threads;
    }
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
