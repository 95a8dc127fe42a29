// Encoders: the bits of the `gguf` package where it has them, and small errors for the types with a search of our own.
// Golden hashes: tests/golden/make_quantize.py.
#include "prenorm/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "prenorm/dequantize.h"

namespace prenorm {
namespace {

constexpr int kExponents[8] = {0, -20, -4, 10, -60, -131, 40, 100};

std::vector<float> GoldenRow() {
  std::vector<float> row(32 * 64);
  uint64_t seed = 42;
  for (size_t i = 0; i < row.size(); ++i) {
    seed += 0x9E3779B97F4A7C15u;  // splitmix64
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    const size_t block = i / 32;
    if (block % 16 == 15) continue;
    const double whole = block % 2 == 0 ? static_cast<double>(static_cast<int64_t>(z >> 40) - (1 << 23))
                                        : static_cast<double>(static_cast<int64_t>(z >> 56) - 128) * (1 << 16);
    row[i] = static_cast<float>(std::ldexp(whole, kExponents[block / 2 % 8] - 23));
  }
  return row;
}

TEST(QuantizeTest, GivesTheBitsOfTheGgufPackage) {
  struct Golden {
    DType type;
    uint64_t hash;
  };
  const Golden all[] = {
#include "tests/golden/quantize_golden.inc"
  };
  const std::vector<float> row = GoldenRow();
  for (const Golden& golden : all) {
    std::vector<uint8_t> blocks(RowBytes(golden.type, row.size()));
    QuantizeRow(golden.type, row.data(), row.size(), blocks.data());
    uint64_t hash = 0xCBF29CE484222325u;
    for (const uint8_t byte : blocks) hash = (hash ^ byte) * 0x100000001B3u;
    EXPECT_EQ(hash, golden.hash) << InfoOf(golden.type).name;
  }
}

// Root of the mean squared error, relative to that of the values.
double RelativeError(DType type, const std::vector<float>& x) {
  std::vector<uint8_t> blocks(RowBytes(type, x.size()));
  QuantizeRow(type, x.data(), x.size(), blocks.data());
  std::vector<float> back(x.size());
  DequantizeRow(type, blocks.data(), x.size(), back.data());
  double error = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (static_cast<double>(back[i]) - x[i]) * (static_cast<double>(back[i]) - x[i]);
    norm += static_cast<double>(x[i]) * x[i];
  }
  return std::sqrt(error / norm);
}

TEST(QuantizeTest, SearchedTypesStayWithinTheErrorOfTheirBits) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> weights(256 * 64);
  for (float& w : weights) w = normal(random);
  // Seen: 7.26 % (Q4_K), 3.5 % (Q5_K), 1.71 % (Q6_K). Spreading 16 levels evenly over a sub-block's range leaves 8 %; a
  // mixed-up bit far more.
  const double q4_k = RelativeError(DType::kQ4_K, weights);
  const double q6_k = RelativeError(DType::kQ6_K, weights);
  EXPECT_LT(q4_k, 0.0735);
  EXPECT_LT(q6_k, 0.0175);
  EXPECT_LT(q4_k, RelativeError(DType::kQ4_0, weights));
  EXPECT_LT(RelativeError(DType::kQ5_K, weights), 0.037);
  EXPECT_LT(q4_k, RelativeError(DType::kQ4_1, weights)) << "the search should beat the even spread";
  for (float& w : weights) w = std::fabs(w) + 0.1f;  // All positive: the stored minimum cannot help.
  EXPECT_LT(RelativeError(DType::kQ4_K, weights), 0.04);
  for (float& w : weights) w = -w;
  EXPECT_LT(RelativeError(DType::kQ4_K, weights), 0.021);
}

TEST(QuantizeTest, SearchedTypesKeepZerosTinyAndHugeValues) {
  for (const DType type : {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    std::vector<uint8_t> blocks(RowBytes(type, 256));
    std::vector<float> back(256);
    for (const float magnitude : {0.0f, 1e-44f, 1e-30f, 1e-3f, 1e5f, 3e38f}) {
      std::vector<float> x(256);
      for (size_t i = 0; i < x.size(); ++i) x[i] = magnitude * (static_cast<float>(i % 7) - 3.0f) / 3.0f;
      QuantizeRow(type, x.data(), x.size(), blocks.data());
      DequantizeRow(type, blocks.data(), x.size(), back.data());
      if (magnitude == 0.0f) {
        EXPECT_EQ(back, x) << InfoOf(type).name;
      }
      if (magnitude != 1e-3f && magnitude != 1e5f) continue;
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 0.08f * magnitude) << InfoOf(type).name;
    }
  }
}

TEST(QuantizeTest, SaysWhatItCanWrite) {
  EXPECT_TRUE(CanQuantize(DType::kQ4_K));
  EXPECT_FALSE(CanQuantize(DType::kIQ4_XS));
}

}  // namespace
}  // namespace prenorm
