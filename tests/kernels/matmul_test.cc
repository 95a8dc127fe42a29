// Products of every weight type on every runnable target: against f64, against exact integers, and bit for bit across
// row counts, row ranges, interleaving and targets.
#include "prenorm/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/matmul_panels.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

struct TypeCase {
  DType type;
  std::vector<size_t> f16_fields;  // byte offsets within a block
};

const std::vector<TypeCase>& Types() {
  static const std::vector<TypeCase> types = {
      {DType::kF32, {}},        {DType::kF16, {0}},     {DType::kBF16, {}},     {DType::kQ4_0, {0}},
      {DType::kQ4_1, {0, 2}},   {DType::kQ5_0, {0}},    {DType::kQ5_1, {0, 2}}, {DType::kQ8_0, {0}},
      {DType::kQ2_K, {80, 82}}, {DType::kQ3_K, {108}},  {DType::kQ4_K, {0, 2}}, {DType::kQ5_K, {0, 2}},
      {DType::kQ6_K, {208}},    {DType::kIQ3_XXS, {0}}, {DType::kIQ3_S, {0}},   {DType::kIQ4_NL, {0}},
      {DType::kIQ4_XS, {0}},    {DType::kMXFP4, {}},
  };
  return types;
}

std::string NameOf(DType type) { return InfoOf(type).name; }
bool IsInt8(DType type) { return ActivationFormatOf(type) == ActivationFormat::kInt8; }

// Random codes; scales near `scale`, or exactly `scale` if `exact`.
std::vector<uint8_t> RandomMatrix(const TypeCase& c, size_t rows, size_t cols, float scale, bool exact, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  const DTypeInfo info = InfoOf(c.type);
  std::vector<uint8_t> bytes(rows * RowBytes(c.type, cols));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    uint8_t* block = bytes.data() + at;
    const auto value = [&] { return exact ? scale : scale * (0.5f + unit(rng)); };
    if (c.type == DType::kF32) {
      const float v = unit(rng);
      std::memcpy(block, &v, 4);
    } else if (c.type == DType::kBF16) {
      const bf16 v = ToBf16(unit(rng));
      std::memcpy(block, &v, 2);
    } else if (c.type == DType::kMXFP4) {
      block[0] = static_cast<uint8_t>(exact ? 128 : 120 + rng() % 4);
    }
    for (size_t field : c.f16_fields) {
      const f16 v = ToF16(c.type == DType::kF16 ? unit(rng) : value());
      std::memcpy(block + field, &v, 2);
    }
  }
  return bytes;
}

std::vector<float> RandomRows(size_t n, size_t cols, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n * cols);
  for (float& v : x) v = normal(rng) * ((rng() % 64 == 0) ? 20.0f : 1.0f);
  return x;
}

// What the activations become, by another route than the kernel: in double, one element at a time.
std::vector<double> ActivationModel(DType type, const std::vector<float>& x) {
  std::vector<double> model(x.begin(), x.end());
  if (!IsInt8(type)) return model;
  for (size_t b = 0; b < x.size(); b += kActivationBlock) {
    float max = 0;
    for (size_t i = 0; i < kActivationBlock; ++i) max = std::max(max, std::fabs(x[b + i]));
    for (size_t i = 0; i < kActivationBlock; ++i) {
      const float scaled = x[b + i] * (127.0f / max);
      model[b + i] = max < 1e-30f ? 0 : std::nearbyint(scaled) * static_cast<double>(max) / 127;
    }
  }
  return model;
}

class Matrix {
 public:
  Matrix(DType type, std::vector<uint8_t> bytes, size_t rows, size_t cols, bool interleave) : bytes_(std::move(bytes)) {
    if (interleave) {
      std::vector<uint8_t> scratch(RowGroup() * RowBytes(type, cols));
      const size_t groups = rows / RowGroup();
      InterleaveRows(type, cols, bytes_.data(), 0, groups / 2, scratch.data());
      InterleaveRows(type, cols, bytes_.data(), groups / 2, groups, scratch.data());
    }
    view_ = {type, rows, cols, bytes_.data(), interleave};
  }
  const WeightMatrix& view() const { return view_; }

 private:
  std::vector<uint8_t> bytes_;
  WeightMatrix view_;
};

std::vector<uint8_t> Pack(DType type, const std::vector<float>& x, size_t cols, size_t n) {
  const ActivationFormat format = ActivationFormatOf(type);
  std::vector<uint8_t> pack(ActivationBytes(format, cols, n));
  const size_t split = n / 2 / PackTile() * PackTile();
  PackActivations(format, x.data(), cols, cols, 0, split, n, pack.data());
  PackActivations(format, x.data(), cols, cols, split, n, n, pack.data());
  return pack;
}

std::vector<float> Multiply(const WeightMatrix& w, const std::vector<float>& x, size_t n) {
  const std::vector<uint8_t> pack = Pack(w.type, x, w.cols, n);
  std::vector<float> out(n * w.rows, NAN);
  std::vector<uint8_t> scratch(MatMulScratchBytes(w.cols));
  MatMul(w, 0, w.rows, pack.data(), n, out.data(), w.rows, false, scratch.data());
  return out;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool HasFma(const std::string& target) { return target.starts_with("AVX") || target.starts_with("NEON"); }

class MatMulTest : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(ForceTarget("").ok()); }

  template <class Test>
  void OnEveryTarget(Test&& test) {
    for (const std::string& target : RunnableTargets()) {
      SCOPED_TRACE(target);
      ASSERT_TRUE(ForceTarget(target).ok());
      test(target);
    }
  }
};

TEST_F(MatMulTest, AgreesWithF64AndAcrossTargets) {
  std::map<std::string, std::vector<float>> results;  // by type and shape, of the first target with FMA
  OnEveryTarget([&](const std::string& target) {
    for (const TypeCase& c : Types()) {
      for (const size_t cols : {32, 64, 256, 576, 640, 768, 896, 1536}) {
        if (cols % InfoOf(c.type).block_elems != 0) continue;
        const size_t rows = 37, n = 3;
        const std::vector<uint8_t> bytes = RandomMatrix(c, rows, cols, 0.01f, false, 7);
        const std::vector<float> x = RandomRows(n, cols, 11);
        const std::vector<float> out = Multiply(Matrix(c.type, bytes, rows, cols, true).view(), x, n);
        const std::vector<double> model = ActivationModel(c.type, x);
        std::vector<float> w(cols);
        for (size_t r = 0; r < rows; ++r) {
          DequantizeRow(c.type, bytes.data() + r * RowBytes(c.type, cols), cols, w.data());
          for (size_t t = 0; t < n; ++t) {
            double sum = 0, magnitude = 0;
            for (size_t i = 0; i < cols; ++i) {
              sum += w[i] * model[t * cols + i];
              magnitude += std::fabs(w[i] * model[t * cols + i]);
            }
            // Offsets are subtracted per block, so terms up to 32 times the weights cancel.
            ASSERT_NEAR(out[t * rows + r], sum, 4e-6 * magnitude + 1e-6)
                << NameOf(c.type) << " " << cols << " row " << r;
          }
        }
        if (!HasFma(target)) continue;
        const auto [first, inserted] = results.try_emplace(NameOf(c.type) + std::to_string(cols), out);
        EXPECT_TRUE(inserted || SameBits(first->second, out)) << NameOf(c.type) << " " << cols << " differs in bits";
      }
    }
  });
}

// With scales of one and activations whose blocks reach 127, every f32 step is exact.
TEST_F(MatMulTest, IntegerPartsAreExact) {
  OnEveryTarget([&](const std::string&) {
    for (const TypeCase& c : Types()) {
      if (!IsInt8(c.type)) continue;
      const size_t rows = 33, cols = 256, n = 9;
      for (const int fill : {-1, 0x00, 0xFF, 0x80, 0x7F}) {
        std::vector<uint8_t> bytes = RandomMatrix(c, rows, cols, 1.0f, true, 3);
        if (fill >= 0) {  // All codes at an extreme (0x80: the -128 that Q8_0 quantizers never write).
          std::vector<uint8_t> filled(bytes.size(), static_cast<uint8_t>(fill));
          const size_t block = InfoOf(c.type).block_bytes;
          for (size_t at = 0; at < filled.size(); at += block) {
            for (size_t f : c.f16_fields) std::memcpy(filled.data() + at + f, bytes.data() + at + f, 2);
            if (c.type == DType::kMXFP4) filled[at] = 128;
          }
          bytes = filled;
        }
        std::mt19937 rng(5);
        std::vector<float> x(n * cols);
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t t = i / cols;
          x[i] = t == 0   ? 127
                 : t == 1 ? -127
                 : t == 2 ? (i % 2 ? -127 : 127)
                          : static_cast<float>(rng() % 255) - 127.0f;
          if (i % 16 == 5) x[i] = 127;
        }
        const std::vector<float> out = Multiply(Matrix(c.type, bytes, rows, cols, true).view(), x, n);
        std::vector<float> w(cols);
        for (size_t r = 0; r < rows; ++r) {
          DequantizeRow(c.type, bytes.data() + r * RowBytes(c.type, cols), cols, w.data());
          for (size_t t = 0; t < n; ++t) {
            double sum = 0, magnitude = 0;
            for (size_t i = 0; i < cols; ++i) {
              sum += static_cast<double>(w[i]) * x[t * cols + i];
              magnitude += std::fabs(static_cast<double>(w[i]) * x[t * cols + i]);
            }
            // Sub-block scales of K types carry partial sums past 2^24; there a few units of the last place are lost.
            const double slack = magnitude < 1 << 21 ? 0 : 3e-6 * magnitude;
            ASSERT_NEAR(out[t * rows + r], sum, slack)
                << NameOf(c.type) << " fill " << fill << " row " << r << " col " << t;
          }
        }
      }
    }
  });
}

TEST_F(MatMulTest, BitsDependOnTheRowsAlone) {
  OnEveryTarget([&](const std::string&) {
    for (const TypeCase& c : Types()) {
      const size_t cols = 512, rows = 53, most = 45;  // 32 columns and more are multiplied with unpacked codes.
      const std::vector<uint8_t> bytes = RandomMatrix(c, rows, cols, 0.01f, false, 21);
      const std::vector<float> x = RandomRows(most, cols, 23);
      const Matrix matrix(c.type, bytes, rows, cols, true);
      std::vector<float> one_by_one;
      for (size_t t = 0; t < most; ++t) {
        const std::vector<float> row(x.begin() + t * cols, x.begin() + (t + 1) * cols);
        const std::vector<float> out = Multiply(matrix.view(), row, 1);
        one_by_one.insert(one_by_one.end(), out.begin(), out.end());
      }
      for (size_t n = 1; n <= most; n += n < 17 ? 1 : 14) {
        const std::vector<float> out = Multiply(matrix.view(), x, n);
        EXPECT_EQ(std::memcmp(out.data(), one_by_one.data(), out.size() * sizeof(float)), 0)
            << NameOf(c.type) << " " << n;
      }
      const Matrix plain(c.type, bytes, rows, cols, false);
      EXPECT_TRUE(SameBits(Multiply(plain.view(), x, most), one_by_one)) << NameOf(c.type) << " not interleaved";
    }
  });
}

TEST_F(MatMulTest, RowRangesWriteTheirRowsOnlyAndAccumulate) {
  OnEveryTarget([&](const std::string&) {
    for (const TypeCase& c : Types()) {
      const size_t cols = 256, rows = 45, n = 45, stride = rows + 3;
      const Matrix matrix(c.type, RandomMatrix(c, rows, cols, 0.01f, false, 31), rows, cols, true);
      const std::vector<float> x = RandomRows(n, cols, 37);
      const std::vector<uint8_t> pack = Pack(c.type, x, cols, n);
      const std::vector<float> whole = Multiply(matrix.view(), x, n);
      std::vector<uint8_t> scratch(MatMulScratchBytes(cols));
      for (const auto& [begin, end] :
           std::vector<std::pair<size_t, size_t>>{{0, 0}, {0, 1}, {3, 29}, {16, 32}, {31, 45}, {44, 45}}) {
        std::vector<float> out(n * stride, 0.25f);
        MatMul(matrix.view(), begin, end, pack.data(), n, out.data(), stride, true, scratch.data());
        for (size_t t = 0; t < n; ++t) {
          for (size_t r = 0; r < stride; ++r) {
            const bool inside = r >= begin && r < end;
            const float expected = inside ? 0.25f + whole[t * rows + r] : 0.25f;
            ASSERT_EQ(out[t * stride + r], expected) << NameOf(c.type) << " [" << begin << ", " << end << ") row " << r;
          }
        }
      }
    }
  });
}

TEST_F(MatMulTest, InterleavedRowsReadBackAsTheyWere) {
  OnEveryTarget([&](const std::string&) {
    for (const TypeCase& c : Types()) {
      const size_t cols = 512, rows = 37;
      const std::vector<uint8_t> bytes = RandomMatrix(c, rows, cols, 0.01f, false, 41);
      const Matrix matrix(c.type, bytes, rows, cols, true);
      std::vector<float> expected(cols), found(cols);
      for (size_t r = 0; r < rows; ++r) {
        DequantizeRow(c.type, bytes.data() + r * RowBytes(c.type, cols), cols, expected.data());
        DequantizeWeightRow(matrix.view(), r, found.data());
        ASSERT_TRUE(SameBits(found, expected)) << NameOf(c.type) << " row " << r;
      }
    }
  });
}

TEST_F(MatMulTest, PacksHaveTheSameBitsOnEveryTarget) {
  // One row, so that tiles do not differ; ties, zeros, tiny values and extremes in it.
  std::vector<float> x = RandomRows(1, 128, 43);
  for (size_t i = 0; i < 16; ++i) x[i] = (i == 0 ? 127.0f : static_cast<float>(i) + 0.5f);
  for (size_t i = 16; i < 32; ++i) x[i] = 0;
  for (size_t i = 32; i < 48; ++i) x[i] = 1e-38f;
  for (size_t i = 48; i < 64; ++i) x[i] = i % 2 ? 3e38f : -3e38f;
  std::vector<uint8_t> first;
  OnEveryTarget([&](const std::string&) {
    const std::vector<uint8_t> pack = Pack(DType::kQ8_0, x, 128, 1);
    if (first.empty()) first = pack;
    EXPECT_EQ(pack, first);
    EXPECT_EQ(static_cast<int8_t>(pack[1]), 2) << "1.5 goes to the even neighbour";
    EXPECT_EQ(static_cast<int8_t>(pack[2]), 2) << "2.5 goes to the even neighbour";
  });
}

TEST_F(MatMulTest, NanAndInfinityReachTheResult) {
  OnEveryTarget([&](const std::string&) {
    for (const TypeCase& c : Types()) {
      const size_t cols = 256, rows = 19;
      const Matrix matrix(c.type, RandomMatrix(c, rows, cols, 0.01f, false, 47), rows, cols, true);
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> x = RandomRows(2, cols, 53);
        x[cols + 77] = bad;
        const std::vector<float> out = Multiply(matrix.view(), x, 2);
        for (size_t r = 0; r < rows; ++r) {
          EXPECT_TRUE(std::isfinite(out[r])) << NameOf(c.type);
          EXPECT_FALSE(std::isfinite(out[rows + r])) << NameOf(c.type) << " row " << r << " hides " << bad;
        }
      }
    }
  });
}

}  // namespace
}  // namespace prenorm
