// The pieces of a deferred norm: sums of squares in blocks, 1 / rms of them, and the pack that applies gain and factor,
// next to a norm before the pack and to the norm in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/matmul_int8.h"
#include "prenorm/deferred_norm.h"
#include "prenorm/norm.h"
#include "prenorm/quantize.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

constexpr float kEps = 1e-5f;

struct Input {
  std::vector<float> x, gain;
};

// Rows as residual streams are: a few channels far larger than the others.
Input RandomInput(size_t cols, double scale, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  Input input{std::vector<float>(cols), std::vector<float>(cols)};
  for (size_t c = 0; c < cols; ++c) {
    input.x[c] = static_cast<float>(scale * normal(rng) * (rng() % 50 == 0 ? 30.0 : 1.0));
    input.gain[c] = static_cast<float>(1.0 + 0.5 * normal(rng));
  }
  return input;
}

float FactorOf(const std::vector<float>& x, float eps) {
  std::vector<double> sums((x.size() + kSquaresBlock - 1) / kSquaresBlock);
  SumSquares(x.data(), x.size(), sums.data());
  return InvRmsOfSquares(sums.data(), x.size(), eps);
}

std::vector<uint8_t> DeferredPack(ActivationFormat format, const Input& input, float eps) {
  const size_t cols = input.x.size();
  const float factor = FactorOf(input.x, eps);
  std::vector<uint8_t> pack(ActivationBytes(format, cols, 1));
  PackNormalized(format, input.x.data(), cols, cols, 0, 1, 1, input.gain.data(), &factor, pack.data());
  return pack;
}

std::vector<uint8_t> PackBehindNorm(ActivationFormat format, const Input& input, float eps) {
  const size_t cols = input.x.size();
  std::vector<float> normed(cols);
  RmsNormOptions options;
  options.eps = eps;
  RmsNorm(input.x.data(), cols, input.gain.data(), normed.data(), cols, 1, cols, options);
  std::vector<uint8_t> pack(ActivationBytes(format, cols, 1));
  PackActivations(format, normed.data(), cols, cols, 0, 1, 1, pack.data());
  return pack;
}

class DeferredNormKernelTest : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }
  template <class Test>
  void OnEveryTarget(Test&& test) {
    for (const std::string& target : RunnableTargets()) {
      SCOPED_TRACE(target);
      ASSERT_TRUE(ForceTarget(target).ok());
      test();
    }
  }
};

TEST_F(DeferredNormKernelTest, SumsOfSquaresAreThoseOfLongDoubleAndTheSameOnEveryTarget) {
  for (const size_t cols : {1u, 15u, 16u, 17u, 96u, 576u, 900u}) {
    const Input input = RandomInput(cols, 1.0, static_cast<uint32_t>(cols));
    std::vector<double> first;
    OnEveryTarget([&] {
      std::vector<double> sums((cols + 15) / 16);
      SumSquares(input.x.data(), cols, sums.data());
      if (first.empty()) first = sums;
      EXPECT_EQ(sums, first);
      long double whole = 0.0L;
      for (size_t b = 0; b < sums.size(); ++b) {
        long double sum = 0.0L;
        for (size_t c = 16 * b; c < std::min(cols, 16 * b + 16); ++c)
          sum += static_cast<long double>(input.x[c]) * input.x[c];
        EXPECT_NEAR(sums[b], static_cast<double>(sum), 1e-15 * static_cast<double>(sum));
        whole += sum;
      }
      const auto expected = static_cast<float>(1.0L / std::sqrt(whole / static_cast<long double>(cols) + kEps));
      EXPECT_NEAR(InvRmsOfSquares(sums.data(), cols, kEps), expected, 6e-8f * expected);
    });
  }
}

TEST_F(DeferredNormKernelTest, HugeAndTinyRowsNeitherOverflowNorVanish) {
  const std::vector<float> huge(64, 1e30f), tiny(64, 1e-30f);
  EXPECT_FLOAT_EQ(FactorOf(huge, kEps), 1e-30f);
  EXPECT_FLOAT_EQ(FactorOf(tiny, 0.0f), 1e30f);
  const Input input{huge, std::vector<float>(64, 2.0f)};
  OnEveryTarget([&] {
    const auto pack = DeferredPack(ActivationFormat::kF32, input, kEps);
    float first;
    std::memcpy(&first, pack.data(), sizeof first);
    EXPECT_NEAR(first, 2.0f, 1e-6f);
    const auto codes = DeferredPack(ActivationFormat::kInt8, input, kEps);
    matmul::ActivationBlock block;
    std::memcpy(&block, codes.data(), sizeof block);
    EXPECT_EQ(block.codes[0], 127);
    EXPECT_NEAR(block.scale[0], 2.0f / 127.0f, 1e-8f);
  });
}

// Errors of y = W norm(x) with the norm deferred and before the pack, against long double: the ratio of their maxima.
double ErrorRatio(DType type, double scale) {
  constexpr size_t kRows = 48, kCols = 576;
  double deferred_error = 0.0, plain_error = 0.0;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const Input input = RandomInput(kCols, scale, 100 + seed);
    const float eps = static_cast<float>(1e-6 * scale * scale);
    const std::vector<float> values = RandomInput(kRows * kCols, 0.05, 200 + seed).x;
    std::vector<uint8_t> bytes(kRows * RowBytes(type, kCols));
    if (type == DType::kF32)
      std::memcpy(bytes.data(), values.data(), bytes.size());
    else
      QuantizeRow(type, values.data(), values.size(), bytes.data());
    const WeightMatrix w{type, kRows, kCols, bytes.data(), /*interleaved=*/false};
    long double squares = 0.0L;
    for (const float v : input.x) squares += static_cast<long double>(v) * v;
    const long double r = 1.0L / std::sqrt(squares / kCols + static_cast<long double>(eps));
    std::vector<float> deferred(kRows), plain(kRows), row(kCols);
    const ActivationFormat format = ActivationFormatOf(type);
    MatMul(w, 0, kRows, DeferredPack(format, input, eps).data(), 1, deferred.data(), kRows, false);
    MatMul(w, 0, kRows, PackBehindNorm(format, input, eps).data(), 1, plain.data(), kRows, false);
    for (size_t i = 0; i < kRows; ++i) {
      DequantizeWeightRow(w, i, row.data());
      long double exact = 0.0L;
      for (size_t c = 0; c < kCols; ++c) {
        exact += static_cast<long double>(row[c]) * input.gain[c] * input.x[c] * r;
      }
      deferred_error = std::max(deferred_error, static_cast<double>(std::abs(deferred[i] - exact)));
      plain_error = std::max(plain_error, static_cast<double>(std::abs(plain[i] - exact)));
    }
  }
  return deferred_error / plain_error;
}

TEST_F(DeferredNormKernelTest, ProductsAreAsExactAsBehindANorm) {
  OnEveryTarget([&] {
    for (const DType type : {DType::kF32, DType::kQ8_0, DType::kQ4_1}) {
      for (const double scale : {1.0, 1e15, 1e-15}) {
        EXPECT_LE(ErrorRatio(type, scale), 1.5) << InfoOf(type).name << " " << scale;
      }
    }
  });
}

TEST_F(DeferredNormKernelTest, CodesAreThoseBehindANormButForTies) {
  OnEveryTarget([&] {
    size_t codes = 0, different = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const Input input = RandomInput(960, 3.0, 300 + seed);
      const auto deferred = DeferredPack(ActivationFormat::kInt8, input, kEps);
      const auto plain = PackBehindNorm(ActivationFormat::kInt8, input, kEps);
      for (size_t at = 0; at < plain.size(); at += sizeof(matmul::ActivationBlock)) {
        matmul::ActivationBlock a, b;
        std::memcpy(&a, deferred.data() + at, sizeof a);
        std::memcpy(&b, plain.data() + at, sizeof b);
        for (size_t i = 0; i < 32; ++i, ++codes) {
          if (a.codes[i] == b.codes[i]) continue;
          ++different;
          EXPECT_EQ(std::abs(a.codes[i] - b.codes[i]), 1);
        }
        for (size_t half = 0; half < 2; ++half) EXPECT_NEAR(a.scale[half], b.scale[half], 4e-7f * b.scale[half]);
      }
    }
    EXPECT_LE(static_cast<double>(different), 1e-4 * static_cast<double>(codes));
  });
}

}  // namespace
}  // namespace prenorm
