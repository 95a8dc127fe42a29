// RMSNorm of rows: known values, accuracy on the corpus, range, tails, independence of rows, same bits everywhere.
#include "prenorm/norm.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "prenorm/norm_parallel.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

RmsNormOptions Eps(float eps) {
  RmsNormOptions options;
  options.eps = eps;
  return options;
}

// RMSNorm of one row out of place, without gain.
std::vector<float> Rms(const std::vector<float>& x, const RmsNormOptions& options) {
  std::vector<float> y(x.size());
  RmsNorm(x.data(), x.size(), nullptr, y.data(), x.size(), 1, x.size(), options);
  return y;
}

void ExpectAll(const std::vector<float>& y, double expected) {
  for (const float v : y) ASSERT_NEAR(v, expected, std::abs(expected) * 1e-6);
}

TEST(RmsNormTest, GivesKnownValues) {  // N5, N6, N8, N10, N15
  ForEachTarget([] {
    const std::vector<float> y = Rms({1, 2, 3, 4}, Eps(1e-6f));
    const std::array<double, 4> expected = {0.3651483, 0.7302967, 1.0954450, 1.4605934};
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], expected[i], 1e-6);
    ExpectAll(Rms(std::vector<float>(8, 1e-4f), Eps(1e-5f)), 0.0316069771);
    ExpectAll(Rms(std::vector<float>(8, 1e-4f), Eps(1e-6f)), 0.0995037190);
    ExpectAll(Rms(std::vector<float>(8, 1e-30f), Eps(1e-6f)), 1e-27);
    ExpectAll(Rms(std::vector<float>(256, 0.0f), Eps(1e-6f)), 0.0);
    ExpectAll(Rms({0.0f}, Eps(1e-6f)), 0.0);
    ExpectAll(Rms({1e-4f}, Eps(1e-6f)), 0.0995037190);
    ExpectAll(Rms({3.0f}, Eps(1e-6f)), 0.99999994);
  });
}

TEST(RmsNormTest, AddsEpsOutsideOfTheRootWhereAsked) {
  ForEachTarget([] {
    RmsNormOptions options = Eps(1e-5f);
    options.eps_placement = EpsPlacement::kOutsideRoot;
    ExpectAll(Rms(std::vector<float>(8, 1e-4f), options), 1e-4 / (1e-4 + 1e-5));
    options.eps = 0x1p-100f;  // Comparable with the row: both are far below what f32 squares can hold.
    ExpectAll(Rms(std::vector<float>(8, 0x1p-100f), options), 0.5);
  });
}

TEST(RmsNormTest, SumsSixteenBitInputsInF32OrWider) {  // N3, N4
  ForEachTarget([] {
    for (const float value : {1.0f, 300.0f}) {
      const std::vector<bf16> x(4096, ToBf16(value));
      std::vector<bf16> y(4096);
      RmsNorm(x.data(), 4096, nullptr, y.data(), 4096, 1, 4096, Eps(1e-6f));
      for (const bf16 v : y) ASSERT_EQ(ToF32(v), 1.0f);
    }
  });
}

TEST(RmsNormTest, FormsOnePlusGainInF32) {  // N24
  ForEachTarget([] {
    const std::vector<float> x(8, 1.0f);
    const std::vector<bf16> gain(8, ToBf16(15.8125f));
    std::vector<float> y(8);
    RmsNormOptions options = Eps(0.0f);
    options.gain_form = GainForm::kOnePlusGain;
    RmsNorm(x.data(), 8, gain.data(), y.data(), 8, 1, 8, options);
    for (const float v : y) EXPECT_EQ(v, 16.8125f);
    options.gain_form = GainForm::kGain;
    options.cast = CastMode::kGemma;
    RmsNorm(x.data(), 8, gain.data(), y.data(), 8, 1, 8, options);
    for (const float v : y) EXPECT_EQ(v, 16.8125f);
  });
}

TEST(RmsNormTest, CastModesRoundWhereTheyShould) {
  ForEachTarget([] {
    const size_t cols = 77;
    const std::vector<bf16> x = Narrowed<bf16>(RandomRow(cols, 5));
    const std::vector<float> gain = RandomRow(cols, 6, 1.0f, 0.3f);
    const std::vector<float> f32 = [&] {
      std::vector<float> y(cols);
      RmsNorm(x.data(), cols, nullptr, y.data(), cols, 1, cols, Eps(1e-6f));
      return y;
    }();
    std::vector<bf16> once(cols);
    std::vector<bf16> twice(cols);
    RmsNorm(x.data(), cols, gain.data(), once.data(), cols, 1, cols, Eps(1e-6f));
    RmsNormOptions llama = Eps(1e-6f);
    llama.cast = CastMode::kLlama;
    RmsNorm(x.data(), cols, gain.data(), twice.data(), cols, 1, cols, llama);
    size_t differ = 0;
    for (size_t i = 0; i < cols; ++i) {
      EXPECT_EQ(once[i].bits, ToBf16(f32[i] * gain[i]).bits);
      EXPECT_EQ(twice[i].bits, ToBf16(ToF32(ToBf16(f32[i])) * gain[i]).bits);
      differ += once[i].bits != twice[i].bits;
    }
    EXPECT_GT(differ, 0u);
  });
}

// Promises A and B. The histogram counts results by error in half units.
TEST(RmsNormTest, StaysWithinTheUlpPromisesOnTheCorpus) {  // N16
  ForEachTarget([] {
    std::array<size_t, 9> histogram = {};
    for (const size_t cols : CorpusLengths()) {
      const std::vector<float> gain = RandomRow(cols, 99, 1.0f, 0.3f);
      for (const NamedRow& row : CorpusRows(cols)) {
        for (const float eps : {0.0f, 1e-12f, 1e-6f, 1e-5f}) {
          const reference::Row unit = reference::RmsNorm(Exactly(row.x), static_cast<long double>(eps));
          for (const bool exact : {false, true}) {
            // One form of gain per length, in turn, keeps the test short.
            const size_t form = (cols + (exact ? 1 : 0)) % 3;  // none, gain, 1 + gain
            RmsNormOptions options = Eps(eps);
            if (exact) options.accumulation = Accumulation::kExact;
            if (form == 2) options.gain_form = GainForm::kOnePlusGain;
            std::vector<float> y(cols);
            RmsNorm(row.x.data(), cols, form == 0 ? nullptr : gain.data(), y.data(), cols, 1, cols, options);
            double worst = 0.0;
            for (size_t i = 0; i < cols; ++i) {
              const long double factor = form == 0 ? 1.0L : (form == 2 ? 1.0L : 0.0L) + gain[i];
              const long double expected = unit[i] * factor;
              if (!IsNormalF32(unit[i]) || !IsNormalF32(expected)) continue;
              const double error = UlpError(y[i], expected);
              worst = std::max(worst, error);
              if (!exact) ++histogram[std::min<size_t>(8, static_cast<size_t>(error * 2.0))];
            }
            const double bound = exact ? static_cast<double>(2 + form) : form == 2 ? 4.0 : 3.0;
            EXPECT_LE(worst, bound) << row.name << " cols " << cols << " eps " << eps << " exact " << exact << " form "
                                    << form;
          }
        }
      }
    }
    std::printf("%-9s results by error, in steps of 0.5 ULP:", ActiveTarget());
    for (const size_t count : histogram) std::printf(" %zu", count);
    std::printf("\n");
    EXPECT_GT(histogram[0], 0u);
  });
}

template <typename X>
void ExpectBf16Promise() {
  size_t total = 0;
  size_t correct = 0;
  for (const size_t cols : {1u, 7u, 64u, 576u, 4096u, 65537u}) {
    const std::vector<X> x = Narrowed<X>(RandomRow(cols, static_cast<uint32_t>(cols)));
    const std::vector<float> gain = RandomRow(cols, 3, 1.0f, 0.3f);
    std::vector<bf16> y(cols);
    RmsNorm(x.data(), cols, gain.data(), y.data(), cols, 1, cols, Eps(1e-6f));
    const reference::Row unit = reference::RmsNorm(Exactly(x), 1e-6f);
    for (size_t i = 0; i < cols; ++i) {
      const bf16 expected = RoundOnce(unit[i] * gain[i]);
      ASSERT_LE(Bf16Steps(y[i], expected), 1);
      correct += y[i].bits == expected.bits;
      ++total;
    }
  }
  EXPECT_GE(static_cast<double>(correct), 0.9999 * static_cast<double>(total));
}

TEST(RmsNormTest, Bf16OutIsRoundedOnce) {  // N16
  ForEachTarget([] {
    ExpectBf16Promise<float>();
    ExpectBf16Promise<bf16>();
  });
}

// 1 + 131/256 lies at the middle between two bf16 numbers, 1 + 65/128 and the even one, 1 + 66/128. x^ is 1, or below 1
// by eps / (2 x^2), far less than f32 can hold.
template <typename X>
void ExpectMiddlesDecidedBySmallestParts(float magnitude) {
  const size_t cols = 37;
  std::vector<X> x;
  for (size_t i = 0; i < cols; ++i) x.push_back(Narrow<X>(i % 3 == 1 ? -magnitude : magnitude));
  const std::vector<bf16> gain(cols, ToBf16(131.0f / 256));
  for (const float eps : {0.0f, 1e-12f, 1e-6f}) {
    for (const EpsPlacement placement : {EpsPlacement::kInsideRoot, EpsPlacement::kOutsideRoot}) {
      RmsNormOptions options = Eps(eps);
      options.gain_form = GainForm::kOnePlusGain;
      options.eps_placement = placement;
      std::vector<bf16> y(cols);
      RmsNorm(x.data(), cols, gain.data(), y.data(), cols, 1, cols, options);
      const float expected = eps > 0.0f ? 1.0f + 65.0f / 128 : 1.0f + 66.0f / 128;
      for (size_t i = 0; i < cols; ++i) {
        ASSERT_EQ(ToF32(y[i]), i % 3 == 1 ? -expected : expected) << magnitude << " eps " << eps << " col " << i;
      }
    }
  }
}

TEST(RmsNormTest, RowsOfOneMagnitudeIntoBf16AreDecidedBeyondF32) {  // N16
  for (const float magnitude : {3.3f, 1e4f, 77.7f}) {
    ExpectMiddlesDecidedBySmallestParts<float>(magnitude);
    ExpectMiddlesDecidedBySmallestParts<bf16>(magnitude);
  }
  // Its neighbours are computed as ever, and so are rows that only begin alike.
  const size_t cols = 40;
  std::vector<float> x = RandomRow(3 * cols, 7);
  std::fill_n(&x[cols], cols, 2.5f);
  std::vector<bf16> together(3 * cols), alone(3 * cols);
  RmsNorm(x.data(), cols, nullptr, together.data(), cols, 3, cols, Eps(1e-6f));
  for (size_t r = 0; r < 3; ++r) RmsNorm(&x[r * cols], cols, nullptr, &alone[r * cols], cols, 1, cols, Eps(1e-6f));
  EXPECT_TRUE(SameBits(together, alone));
  EXPECT_EQ(ToF32(together[cols]), 1.0f);
  x.assign(cols, 2.5f);
  x.back() = std::numeric_limits<float>::infinity();
  std::vector<bf16> y(cols);
  RmsNorm(x.data(), cols, nullptr, y.data(), cols, 1, cols, Eps(1e-6f));
  EXPECT_EQ(ToF32(y[0]), 0.0f);
  EXPECT_TRUE(std::isnan(ToF32(y.back())));
}

// The plain result of one variant, element by element from long double.
template <typename X, typename Gain, typename Out>
void ExpectRows(const X* x, size_t x_stride, const Gain* gain, const Out* out, size_t out_stride, size_t rows,
                size_t cols, float eps) {
  for (size_t r = 0; r < rows; ++r) {
    const reference::Row unit = reference::RmsNorm(Exactly(x + r * x_stride, cols), static_cast<long double>(eps));
    for (size_t i = 0; i < cols; ++i) {
      const long double expected = unit[i] * static_cast<long double>(gain == nullptr ? 1.0f : Widen(gain[i]));
      if constexpr (std::is_same_v<Out, bf16>) {
        ASSERT_LE(Bf16Steps(out[r * out_stride + i], RoundOnce(expected)), 1) << "row " << r << " col " << i;
      } else {
        ASSERT_LE(UlpError(out[r * out_stride + i], expected), 3.0) << "row " << r << " col " << i;
      }
    }
  }
}

// Strides of their own, NaN in the gaps of x, canaries in the gaps of out.
template <typename X, typename Gain, typename Out>
void ExpectRightAtEveryLength() {
  const size_t rows = 7;
  std::vector<size_t> lengths = {769, 2561};
  for (size_t cols = 1; cols <= 130; ++cols) lengths.push_back(cols);
  for (const size_t cols : lengths) {
    const size_t x_stride = cols + 3;
    const size_t out_stride = cols + 11;
    std::vector<X> x(rows * x_stride, Narrow<X>(std::numeric_limits<float>::quiet_NaN()));
    const std::vector<X> values = Narrowed<X>(RandomRow(rows * cols, static_cast<uint32_t>(cols)));
    for (size_t r = 0; r < rows; ++r) std::copy_n(&values[r * cols], cols, &x[r * x_stride]);
    const std::vector<Gain> gain = Narrowed<Gain>(RandomRow(cols, 17, 1.0f, 0.5f));
    const Out canary = Narrow<Out>(-77.0f);
    std::vector<Out> out(rows * out_stride, canary);
    RmsNorm(x.data(), x_stride, gain.data(), out.data(), out_stride, rows, cols, Eps(1e-5f));
    ExpectRows(x.data(), x_stride, gain.data(), out.data(), out_stride, rows, cols, 1e-5f);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = cols; i < out_stride; ++i) {
        ASSERT_EQ(Widen(out[r * out_stride + i]), -77.0f) << "cols " << cols << " row " << r;
      }
    }
  }
}

TEST(RmsNormTest, EveryLengthStrideAndVariantIsRightAndLeavesGapsAlone) {  // N11, N13
  ForEachTarget([] {
#define PRENORM_NORM(X, GAIN, OUT) ExpectRightAtEveryLength<X, GAIN, OUT>();
#include "kernels/variants.inc"
  });
}

template <typename X, typename Gain, typename Out>
void ExpectNoOverRead() {
  for (const size_t cols : {1u, 3u, 17u, 63u, 64u, 65u, 100u, 1023u, 1025u}) {
    for (const bool at_end : {false, true}) {
      GuardedBuffer<X> x(cols, at_end);
      GuardedBuffer<Gain> gain(cols, at_end);
      GuardedBuffer<Out> out(cols, at_end);
      std::fill_n(x.data(), cols, Narrow<X>(1.0f));
      std::fill_n(gain.data(), cols, Narrow<Gain>(2.0f));
      RmsNorm(x.data(), cols, gain.data(), out.data(), cols, 1, cols, Eps(0.0f));
      for (size_t i = 0; i < cols; ++i) ASSERT_EQ(Widen(out.data()[i]), 2.0f);
      x.data()[cols / 2] = Narrow<X>(1e30f);  // The path that scales.
      RmsNorm(x.data(), cols, gain.data(), out.data(), cols, 1, cols, Eps(0.0f));
      ASSERT_TRUE(std::isfinite(Widen(out.data()[cols / 2])));
    }
  }
}

TEST(RmsNormTest, TouchesNothingOutsideOfARow) {
  ForEachTarget([] {
#define PRENORM_NORM(X, GAIN, OUT) ExpectNoOverRead<X, GAIN, OUT>();
#include "kernels/variants.inc"
  });
}

TEST(RmsNormTest, RowCountIsNotLimitedTo16Bits) {  // N14
  for (const size_t rows : {65535u, 65536u, 65537u}) {
    std::vector<float> x(rows * 8, 2.0f);
    RmsNorm(x.data(), 8, nullptr, x.data(), 8, rows, 8, Eps(0.0f));
    ASSERT_TRUE(std::all_of(x.begin(), x.end(), [](float v) { return v == 1.0f; })) << rows;
  }
}

TEST(RmsNormTest, NanAndInfStayInTheirRow) {  // N9
  ForEachTarget([] {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const size_t cols : {1u, 16u, 67u}) {
      const std::vector<float> good = RandomRow(3 * cols, 4);
      std::vector<float> good_out(good.size());
      RmsNorm(good.data(), cols, nullptr, good_out.data(), cols, 3, cols, Eps(1e-6f));
      for (size_t position = 0; position < cols; ++position) {
        for (const float bad : {nan, inf, -inf}) {
          std::vector<float> x = good;
          x[cols + position] = bad;
          std::vector<float> y(x.size());
          RmsNorm(x.data(), cols, nullptr, y.data(), cols, 3, cols, Eps(1e-6f));
          ASSERT_EQ(0, std::memcmp(y.data(), good_out.data(), cols * sizeof(float)));
          ASSERT_EQ(0, std::memcmp(&y[2 * cols], &good_out[2 * cols], cols * sizeof(float)));
          for (size_t i = 0; i < cols; ++i) {
            const float v = y[cols + i];
            if (std::isnan(bad) || i == position) {
              ASSERT_TRUE(std::isnan(v)) << "position " << position << " col " << i;
            } else {
              ASSERT_EQ(v, 0.0f);
              ASSERT_EQ(std::signbit(v), std::signbit(x[cols + i]));
            }
          }
        }
      }
    }
  });
}

TEST(RmsNormTest, ZeroRowGivesZerosOrWithoutEpsNan) {  // N7
  ForEachTarget([] {
    for (const float v : Rms(std::vector<float>(67, 0.0f), Eps(1e-30f))) ASSERT_EQ(v, 0.0f);
    for (const float v : Rms(std::vector<float>(67, -0.0f), Eps(0.0f))) ASSERT_TRUE(std::isnan(v));
    const std::vector<float> y = Rms({-0.0f, 1.0f}, Eps(0.0f));
    EXPECT_TRUE(std::signbit(y[0]));
  });
}

TEST(RmsNormTest, EveryTargetGivesTheSameBits) {
  for (const size_t cols : CorpusLengths()) {
    const std::vector<float> gain = RandomRow(cols, 8, 1.0f, 0.3f);
    for (const NamedRow& row : CorpusRows(cols)) {
      for (const Accumulation accumulation : {Accumulation::kLanes, Accumulation::kExact}) {
        RmsNormOptions options = Eps(1e-12f);
        options.accumulation = accumulation;
        std::vector<float> first;
        for (const std::string& target : SameBitsTargets()) {
          ASSERT_TRUE(ForceTarget(target).ok());
          std::vector<float> y(cols);
          RmsNorm(row.x.data(), cols, gain.data(), y.data(), cols, 1, cols, options);
          if (first.empty()) first = y;
          ASSERT_TRUE(SameBits(first, y)) << target << " " << row.name << " cols " << cols;
        }
      }
    }
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST(RmsNormTest, AddressRowPositionAndAliasingChangeNoBit) {  // N12
  ForEachTarget([] {
    for (const size_t cols : {5u, 64u, 100u, 576u, 1500u}) {
      const std::vector<float> values = RandomRow(cols, 21);
      const std::vector<float> gain = RandomRow(cols, 22, 1.0f, 0.3f);
      std::vector<float> expected(cols);
      RmsNorm(values.data(), cols, gain.data(), expected.data(), cols, 1, cols, Eps(1e-6f));
      const std::vector<bf16> values16 = Narrowed<bf16>(values);
      std::vector<bf16> expected16(cols);
      RmsNorm(values16.data(), cols, gain.data(), expected16.data(), cols, 1, cols, Eps(1e-6f));
      for (size_t offset = 0; offset < 64; offset += 2) {  // bytes
        std::vector<bf16> x16(cols + 32);
        std::copy(values16.begin(), values16.end(), &x16[offset / 2]);
        RmsNorm(&x16[offset / 2], cols, gain.data(), &x16[offset / 2], cols, 1, cols, Eps(1e-6f));
        ASSERT_EQ(0, std::memcmp(&x16[offset / 2], expected16.data(), cols * 2)) << offset;
        if (offset % 4 != 0) continue;
        std::vector<float> x(cols + 16);
        std::copy(values.begin(), values.end(), &x[offset / 4]);
        RmsNorm(&x[offset / 4], cols, gain.data(), &x[offset / 4], cols, 1, cols, Eps(1e-6f));
        ASSERT_EQ(0, std::memcmp(&x[offset / 4], expected.data(), cols * 4)) << offset;
      }
      // Every position in a group of rows that are finished together.
      const size_t rows = 19;
      std::vector<float> many(rows * cols, 3.0f);
      for (size_t r = 0; r < rows; ++r) {
        std::fill(many.begin(), many.end(), 3.0f);
        std::copy(values.begin(), values.end(), &many[r * cols]);
        RmsNorm(many.data(), cols, gain.data(), many.data(), cols, rows, cols, Eps(1e-6f));
        ASSERT_EQ(0, std::memcmp(&many[r * cols], expected.data(), cols * 4)) << "row " << r;
      }
    }
  });
}

TEST(RmsNormTest, ThreadCountChangesNoBit) {
  const size_t rows = 301;
  const size_t cols = 576;
  const std::vector<float> x = RandomRow(rows * cols, 31);
  const std::vector<float> gain = RandomRow(cols, 32, 1.0f, 0.3f);
  std::vector<float> expected(x.size());
  RmsNorm(x.data(), cols, gain.data(), expected.data(), cols, rows, cols, Eps(1e-6f));
  for (const size_t threads : {1u, 2u, 3u, 8u}) {
    std::vector<float> y(x.size());
    ParallelRmsNorm(x.data(), cols, gain.data(), y.data(), cols, rows, cols, Eps(1e-6f), threads);
    EXPECT_TRUE(SameBits(expected, y)) << threads;
  }
}

TEST(RmsNormTest, Bf16GainEqualsF32GainOfTheSameValue) {  // N17
  const size_t cols = 131;
  const std::vector<float> x = RandomRow(cols, 41);
  const std::vector<bf16> gain16 = Narrowed<bf16>(RandomRow(cols, 42));
  std::vector<float> gain;
  for (const bf16 v : gain16) gain.push_back(ToF32(v));
  ForEachTarget([&] {
    std::vector<float> a(cols);
    std::vector<float> b(cols);
    RmsNorm(x.data(), cols, gain16.data(), a.data(), cols, 1, cols, Eps(1e-6f));
    RmsNorm(x.data(), cols, gain.data(), b.data(), cols, 1, cols, Eps(1e-6f));
    EXPECT_TRUE(SameBits(a, b));
  });
}

TEST(RmsNormTest, ScaleByAPowerOfTwoCancelsExactlyAndAShiftDoesNot) {
  ForEachTarget([] {
    const std::vector<float> x = RandomRow(100, 51);
    const std::vector<float> y = Rms(x, Eps(0.0f));
    for (const int exponent : {-90, -3, 5, 90}) {
      std::vector<float> scaled = x;
      for (float& v : scaled) v = std::ldexp(v, exponent);
      EXPECT_TRUE(SameBits(y, Rms(scaled, Eps(0.0f)))) << exponent;
    }
    std::vector<float> shifted = x;
    for (float& v : shifted) v += 1.0f;
    EXPECT_GT(std::abs(Rms(shifted, Eps(0.0f))[0] - y[0]), 0.01f);
  });
}

TEST(RmsNormTest, ZeroRowsTouchNothing) {  // N23
  const float* none = nullptr;
  RmsNorm(none, 0, none, static_cast<float*>(nullptr), 0, 0, 8, Eps(1e-6f));
}

TEST(RmsNormTest, InvRmsIsTheFactorThatRmsNormUses) {
  ForEachTarget([] {
    const size_t cols = 321;
    const std::vector<float> x = RandomRow(3 * cols, 61);
    std::vector<float> y(x.size());
    RmsNorm(x.data(), cols, nullptr, y.data(), cols, 3, cols, Eps(1e-5f));
    std::array<float, 3> inv_rms = {};
    InvRms(x.data(), cols, inv_rms.data(), 3, cols, Eps(1e-5f));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] * inv_rms[i / cols]);
    const std::vector<bf16> ones(8, ToBf16(2.0f));
    InvRms(ones.data(), 8, inv_rms.data(), 1, 8, Eps(0.0f));
    EXPECT_EQ(inv_rms[0], 0.5f);
  });
}

}  // namespace
}  // namespace prenorm
