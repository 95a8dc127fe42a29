// Attention and its cache against an f64 oracle, on every target of the host.
#include "prenorm/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A cache of one head, the f32 values that it stores after rounding, and queries.
class Case {
 public:
  Case(DType type, size_t head_dim, size_t positions, size_t rows, float score_scale = 1.0f, uint32_t seed = 1)
      : head_dim_(head_dim),
        positions_(positions),
        rows_(rows),
        keys_(positions * head_dim),
        values_(positions * head_dim),
        queries_(rows * head_dim) {
    std::mt19937 random(seed + static_cast<uint32_t>(head_dim * 1000 + positions));
    std::normal_distribution<float> normal;
    for (float& x : keys_) x = normal(random);
    for (float& x : values_) x = normal(random);
    for (float& x : queries_) x = normal(random) * score_scale;
    // Bytes of all ones are NaN in every type: what was not stored must never count.
    key_bytes_.assign(KeyCapacity(positions) * RowBytes(type, head_dim), 0xFF);
    value_bytes_.assign(positions * RowBytes(type, head_dim), 0xFF);
    args_.cache = {type, head_dim, key_bytes_.data(), value_bytes_.data()};
    args_.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    Store();
  }

  void Store() {
    StoreKv(args_.cache, 0, positions_, keys_.data(), values_.data(), head_dim_);
    for (std::vector<float>* floats : {&keys_, &values_}) {
      for (float& x : *floats) {
        if (args_.cache.type == DType::kF16) x = ToF32(ToF16(x));
        if (args_.cache.type == DType::kBF16) x = ToF32(ToBf16(x));
      }
      if (args_.cache.type == DType::kQ8_0) RoundToInt8(*floats);
    }
  }

  // Runs of 32 with anything that is not finite are NaN.
  static void RoundToInt8(std::vector<float>& floats) {
    for (size_t at = 0; at < floats.size(); at += 32) {
      float* const run = floats.data() + at;
      const bool finite = std::all_of(run, run + 32, [](float x) { return std::isfinite(x); });
      unsigned char block[34];
      QuantizeRow(DType::kQ8_0, run, 32, block);
      DequantizeRow(DType::kQ8_0, block, 32, run);
      if (!finite) std::fill_n(run, 32, kNaN);
    }
  }

  std::vector<float> Run(const std::vector<size_t>& visible_end, size_t first_row = 0) const {
    const size_t rows = visible_end.size();
    const size_t stride = head_dim_ + 3;
    std::vector<float> q(rows * stride, kNaN);
    for (size_t r = 0; r < rows; ++r) {
      std::copy_n(&queries_[(first_row + r) * head_dim_], head_dim_, &q[r * stride]);
    }
    std::vector<float> out(rows * stride, 42.0f);
    std::vector<unsigned char> scratch(AttentionScratchBytes(rows, head_dim_, args_.cache.type), 0xFF);
    Attention(args_, q.data(), stride, visible_end.data(), rows, out.data(), stride, scratch.data());
    std::vector<float> result;
    for (size_t r = 0; r < rows; ++r) {
      result.insert(result.end(), &out[r * stride], &out[r * stride] + head_dim_);
      for (size_t i = head_dim_; i < stride; ++i) EXPECT_EQ(out[r * stride + i], 42.0f);
    }
    return result;
  }

  // All scores first, then one softmax: no chunks and no stream.
  std::vector<double> Oracle(size_t row, size_t visible_end) const {
    const size_t begin = args_.window != 0 && visible_end > args_.window ? visible_end - args_.window : 0;
    std::vector<double> scores;
    for (size_t p = begin; p < visible_end; ++p) {
      double dot = 0.0;
      for (size_t d = 0; d < head_dim_; ++d) {
        dot += static_cast<double>(queries_[row * head_dim_ + d]) * static_cast<double>(keys_[p * head_dim_ + d]);
      }
      dot *= static_cast<double>(args_.scale);
      if (args_.soft_cap > 0.0f) {
        dot = static_cast<double>(args_.soft_cap) * std::tanh(dot / static_cast<double>(args_.soft_cap));
      }
      scores.push_back(dot);
    }
    std::vector<double> out(head_dim_);
    if (scores.empty()) return out;
    const double max = *std::max_element(scores.begin(), scores.end());
    double total = 0.0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - max);
      total += weight;
      for (size_t d = 0; d < head_dim_; ++d) {
        out[d] += weight * static_cast<double>(values_[(begin + i) * head_dim_ + d]);
      }
    }
    for (double& x : out) x /= total;
    return out;
  }

  void ExpectNearOracle(const std::vector<size_t>& visible_end, double tolerance) const {
    const std::vector<float> actual = Run(visible_end);
    for (size_t r = 0; r < visible_end.size(); ++r) {
      const std::vector<double> expected = Oracle(r, visible_end[r]);
      for (size_t d = 0; d < head_dim_; ++d) {
        ASSERT_NEAR(static_cast<double>(actual[r * head_dim_ + d]), expected[d], tolerance)
            << ActiveTarget() << " " << InfoOf(args_.cache.type).name << " head_dim " << head_dim_ << " row " << r
            << " sees " << visible_end[r] << " d " << d;
      }
    }
  }

  size_t head_dim_;
  size_t positions_;
  size_t rows_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> queries_;
  std::vector<unsigned char> key_bytes_;
  std::vector<unsigned char> value_bytes_;
  AttentionArgs args_;
};

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr DType kAllTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

bool Fits(DType type, size_t head_dim) { return head_dim % InfoOf(type).block_elems == 0; }

// Scores of size s are off by about s * 2^-24 * sqrt(head_dim), and so are the logarithms of the weights.
constexpr double kTolerance = 4e-6;

class AttentionTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(ForceTarget(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }
};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionTest, ::testing::ValuesIn(RunnableTargets()));

std::vector<size_t> Causal(size_t first, size_t rows) {
  std::vector<size_t> visible_end;
  for (size_t r = 0; r < rows; ++r) visible_end.push_back(first + r + 1);
  return visible_end;
}

TEST_P(AttentionTest, AgreesWithTheOracleForAllShapes) {
  for (const DType type : kAllTypes) {
    for (const size_t head_dim : {1, 8, 32, 64, 72, 80, 96, 128, 256}) {
      if (!Fits(type, head_dim)) continue;
      for (const size_t positions : {1, 2, 15, 16, 17, 31, 32, 33, 64, 255, 256, 257, 512, 600}) {
        const Case c(type, head_dim, positions, 3);
        ASSERT_NO_FATAL_FAILURE(c.ExpectNearOracle(std::vector<size_t>(3, positions), kTolerance));
      }
    }
  }
}

TEST_P(AttentionTest, SeesTheRightPositionsForEveryCount) {
  const Case c(DType::kF16, 32, 600, 600);
  ASSERT_NO_FATAL_FAILURE(c.ExpectNearOracle(Causal(0, 600), kTolerance));
}

TEST_P(AttentionTest, WindowIncludesThePositionItself) {  // F25
  Case c(DType::kF32, 64, 600, 600);
  for (const size_t window : {1, 4, 31, 256, 300, 1000}) {
    c.args_.window = window;
    ASSERT_NO_FATAL_FAILURE(c.ExpectNearOracle(Causal(0, 600), kTolerance)) << window;
  }
  // W = 4, position 5 sees 2, 3, 4, 5: the others may hold anything.
  c.args_.window = 4;
  std::fill_n(c.keys_.begin(), 2 * 64, kNaN);
  std::fill_n(c.values_.begin(), 2 * 64, kNaN);
  c.Store();
  for (const float x : c.Run({6})) EXPECT_FALSE(std::isnan(x));
  for (const float x : c.Run({5})) EXPECT_TRUE(std::isnan(x));
}

TEST_P(AttentionTest, SoftCapsTheScores) {
  Case c(DType::kF32, 64, 300, 5, 40.0f);
  c.args_.soft_cap = 50.0f;
  ASSERT_NO_FATAL_FAILURE(c.ExpectNearOracle({300, 299, 257, 3, 1}, 3e-5));
}

TEST_P(AttentionTest, BitsDoNotDependOnTheOtherRows) {
  for (const DType type : kAllTypes) {
    for (const size_t head_dim : {64, 80}) {
      if (!Fits(type, head_dim)) continue;
      for (const size_t window : {0, 100}) {
        constexpr size_t kRows = 40;
        Case c(type, head_dim, 560, kRows);
        c.args_.window = window;
        std::vector<size_t> visible_end = Causal(500, kRows);
        visible_end[3] = 7;  // Far from its neighbours in the tile.
        visible_end[4] = 0;
        const std::vector<float> together = c.Run(visible_end);
        for (size_t rows = 1; rows <= 8; ++rows) {
          for (size_t first = 0; first + rows <= kRows; first += rows) {
            const std::vector<size_t> ends(&visible_end[first], &visible_end[first] + rows);
            const std::vector<float> part = c.Run(ends, first);
            ASSERT_EQ(0, std::memcmp(part.data(), &together[first * head_dim], part.size() * sizeof(float)))
                << ActiveTarget() << " rows " << rows << " from " << first;
          }
        }
      }
    }
  }
}

TEST_P(AttentionTest, ChunksMergeToTheSameBits) {
  for (const DType type : {DType::kF16, DType::kQ8_0}) {
    for (const size_t window : {0, 300}) {
      Case c(type, 64, 1000, 9);
      c.args_.window = window;
      const std::vector<size_t> visible_end = {1000, 1000, 999, 513, 512, 511, 256, 1, 0};
      const std::vector<float> expected = c.Run(visible_end);
      constexpr size_t kChunks = 4;
      std::vector<float> partials(kChunks * 9 * AttentionPartialFloats(64));
      std::vector<unsigned char> scratch(AttentionScratchBytes(9, 64, type));
      for (const size_t chunk : {2, 0, 3, 1}) {
        AttentionChunk(c.args_, c.queries_.data(), 64, visible_end.data(), 9, chunk,
                       &partials[chunk * 9 * AttentionPartialFloats(64)], scratch.data());
      }
      std::vector<float> merged(9 * 64);
      AttentionMerge(partials.data(), kChunks, 9, 64, merged.data(), 64);
      EXPECT_EQ(0, std::memcmp(merged.data(), expected.data(), merged.size() * sizeof(float))) << ActiveTarget();
    }
  }
}

TEST_P(AttentionTest, WhatIsNotFiniteStaysSoInAnInt8Cache) {
  for (const float poison : {kNaN, std::numeric_limits<float>::infinity()}) {
    Case c(DType::kQ8_0, 64, 40, 2);
    c.values_[30 * 64 + 5] = poison;
    c.Store();
    const std::vector<float> out = c.Run({30, 31});
    for (size_t d = 0; d < 64; ++d) EXPECT_FALSE(std::isnan(out[d]));
    for (size_t d = 0; d < 64; ++d) EXPECT_EQ(std::isnan(out[64 + d]), d < 32) << d;
  }
}

TEST_P(AttentionTest, UnseenPositionsNeverReachARow) {
  Case c(DType::kF32, 64, 300, 20);
  const std::vector<size_t> visible_end = Causal(250, 20);
  const std::vector<float> clean = c.Run(visible_end);
  for (const float poison : {kNaN, std::numeric_limits<float>::infinity()}) {
    // Only the rows from the 11th on see position 260.
    std::fill_n(c.keys_.begin() + 260 * 64, 64, poison);
    std::fill_n(c.values_.begin() + 260 * 64, 64, poison);
    c.Store();
    const std::vector<float> poisoned = c.Run(visible_end);
    for (size_t i = 0; i < poisoned.size(); ++i) {
      if (i < 10 * 64) {
        ASSERT_EQ(poisoned[i], clean[i]) << i;
      } else {
        ASSERT_TRUE(std::isnan(poisoned[i])) << i;
      }
    }
  }
}

TEST_P(AttentionTest, HugeScoresGiveFiniteResults) {
  for (const float size : {1e4f, 1e30f, -1e30f}) {
    Case c(DType::kF32, 64, 300, 1);
    c.args_.scale = 1.0f;
    // Position p scores size * p / 300, exactly ordered: the winner takes all.
    std::fill(c.queries_.begin(), c.queries_.end(), 0.0f);
    c.queries_[0] = size;
    for (size_t p = 0; p < 300; ++p) c.keys_[p * 64] = static_cast<float>(p) / 300.0f;
    c.Store();
    const std::vector<float> out = c.Run({300});
    const size_t winner = size > 0.0f ? 299 : 0;
    for (size_t d = 0; d < 64; ++d) EXPECT_NEAR(out[d], c.values_[winner * 64 + d], 1e-6f) << size;
  }
}

TEST_P(AttentionTest, ARowThatSeesNothingIsZero) {
  const Case c(DType::kF16, 64, 10, 2);
  const std::vector<float> out = c.Run({0, 1});
  for (size_t d = 0; d < 64; ++d) {
    EXPECT_EQ(out[d], 0.0f);
    EXPECT_EQ(out[64 + d], c.values_[d]) << "one position has weight 1";
  }
}

TEST_P(AttentionTest, CacheRoundsAsTheTypesDo) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0xFFF00000u; bits += 0x0000E3F1u) x.push_back(std::bit_cast<float>(bits));
  for (const float special : {65504.0f, 65519.9f, 65520.0f, -70000.0f, 6e-8f, 2.9802322e-8f, 2.98e-8f, -0.0f,
                              std::numeric_limits<float>::infinity()}) {
    x.push_back(special);
  }
  const size_t head_dim = 70;
  const size_t positions = x.size() / head_dim;
  for (const DType type : kTypes) {
    const size_t bytes = RowBytes(type, 1);
    std::vector<unsigned char> keys(KeyCapacity(positions) * head_dim * bytes);
    std::vector<unsigned char> values(positions * head_dim * bytes);
    const float* const v = x.data() + x.size() - positions * head_dim;
    StoreKv({type, head_dim, keys.data(), values.data()}, 0, positions, v, v, head_dim);
    for (size_t p = 0; p < positions; ++p) {
      for (size_t d = 0; d < head_dim; ++d) {
        const float from = v[p * head_dim + d];
        unsigned char expected[4];
        const f16 half = ToF16(from);
        const bf16 brain = ToBf16(from);
        if (type == DType::kF32) std::memcpy(expected, &from, 4);
        if (type == DType::kF16) std::memcpy(expected, &half, 2);
        if (type == DType::kBF16) std::memcpy(expected, &brain, 2);
        if (std::isnan(from)) continue;
        ASSERT_EQ(0, std::memcmp(expected, &values[(p * head_dim + d) * bytes], bytes)) << from;
        ASSERT_EQ(0, std::memcmp(expected, &keys[KeyIndex(p, d, head_dim) * bytes], bytes)) << from;
      }
    }
  }
}

TEST(AttentionTargetsTest, TargetsWithFusedMultiplyAddGiveTheSameBits) {
  Case c(DType::kF16, 80, 600, 20);
  c.args_.soft_cap = 30.0f;
  std::vector<float> first;
  for (const std::string& target : RunnableTargets()) {
    if (target != "AVX2" && target.rfind("AVX3", 0) != 0) continue;
    ASSERT_TRUE(ForceTarget(target).ok());
    const std::vector<float> out = c.Run(Causal(580, 20));
    if (first.empty()) first = out;
    EXPECT_EQ(0, std::memcmp(first.data(), out.data(), out.size() * sizeof(float))) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
