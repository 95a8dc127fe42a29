// Products from packed panels against sums in f64, on every target; bits that depend on a row of weights and one of x
// alone; panels of every type.
#include "prenorm/matmul_panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

struct Case {
  size_t rows, cols, n;
};

class MatMulPanelsTest : public testing::Test {
 protected:
  void Make(const Case& c) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& values, size_t size) {
      values.resize(size);
      for (float& value : values) value = normal(random);
    };
    fill(w_, c.rows * c.cols);
    fill(x_, c.n * c.cols);
    fill(bias_, c.rows);
    fill(before_, c.n * c.rows);
    panels_.assign(PanelCount(c.rows) * kPanelRows * c.cols, NAN);
    std::vector<float> rows(PanelRowFloats(c.cols));
    PackPanels({DType::kF32, c.rows, c.cols, w_.data(), false}, 0, PanelCount(c.rows), rows.data(), panels_.data());
  }
  std::vector<float> Multiply(const Case& c, size_t first, size_t n, bool accumulate) const {
    std::vector<float> out(before_.begin() + static_cast<std::ptrdiff_t>(first * c.rows),
                           before_.begin() + static_cast<std::ptrdiff_t>((first + n) * c.rows));
    for (size_t row = 0; row < c.rows; row += kPanelRows) {
      MatMulPanel(panels_.data() + row * c.cols, std::min(kPanelRows, c.rows - row), c.cols, x_.data() + first * c.cols,
                  n, bias_.data() + row, out.data() + row, c.rows, accumulate);
    }
    return out;
  }
  std::vector<float> w_, x_, bias_, before_, panels_;
};

TEST_F(MatMulPanelsTest, AreNearTheSumsAndIndependentOfTheOtherRows) {
  for (const std::string& target : RunnableTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    for (const Case& c : {Case{1, 1, 1}, Case{64, 37, 7}, Case{70, 96, 13}, Case{130, 33, 6}, Case{17, 256, 5}}) {
      Make(c);
      for (const bool accumulate : {false, true}) {
        const std::vector<float> out = Multiply(c, 0, c.n, accumulate);
        for (size_t t = 0; t < c.n; ++t) {
          for (size_t r = 0; r < c.rows; ++r) {
            double sum = static_cast<double>(bias_[r]), size = std::abs(sum);
            if (accumulate) sum += static_cast<double>(before_[t * c.rows + r]);
            for (size_t i = 0; i < c.cols; ++i) {
              const double term = static_cast<double>(w_[r * c.cols + i]) * static_cast<double>(x_[t * c.cols + i]);
              sum += term;
              size += std::abs(term);
            }
            EXPECT_NEAR(out[t * c.rows + r], sum, 0x1p-24 * static_cast<double>(c.cols + 3) * (size + 4.0)) << target;
          }
          const std::vector<float> alone = Multiply(c, t, 1, accumulate);
          EXPECT_TRUE(std::equal(alone.begin(), alone.end(), out.begin() + static_cast<std::ptrdiff_t>(t * c.rows)));
        }
      }
    }
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST_F(MatMulPanelsTest, HaveTheSameBitsOnTargetsWithFma) {
  const Case c{70, 100, 13};
  Make(c);
  std::vector<float> first;
  for (const std::string& target : RunnableTargets()) {
    if (target.starts_with("SS")) continue;
    ASSERT_TRUE(ForceTarget(target).ok());
    const std::vector<float> out = Multiply(c, 0, c.n, /*accumulate=*/true);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST_F(MatMulPanelsTest, WithoutABiasAddNone) {
  const Case c{64, 40, 3};
  Make(c);
  std::vector<float> out(c.n * c.rows), with_zeros(c.n * c.rows);
  const std::vector<float> zeros(c.rows);
  MatMulPanel(panels_.data(), c.rows, c.cols, x_.data(), c.n, nullptr, out.data(), c.rows, false);
  MatMulPanel(panels_.data(), c.rows, c.cols, x_.data(), c.n, zeros.data(), with_zeros.data(), c.rows, false);
  EXPECT_EQ(out, with_zeros);
}

// Of every type, in any ranges: the panel holds column c of row r at c * kPanelRows + r, and zeros where rows end.
TEST(PackPanelsTest, WidensEveryTypeInRangesAndPadsWithZeros) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_1, DType::kQ6_K}) {
    const size_t rows = 2 * kPanelRows + 9, cols = 256;
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<uint8_t> stored(rows * RowBytes(type, cols));
    std::vector<float> widened(rows * cols), row(cols);
    for (size_t r = 0; r < rows; ++r) {
      for (float& value : row) value = normal(random);
      QuantizeRow(type, row.data(), cols, stored.data() + r * RowBytes(type, cols));
      DequantizeRow(type, stored.data() + r * RowBytes(type, cols), cols, widened.data() + r * cols);
    }
    const WeightMatrix w{type, rows, cols, stored.data(), false};
    std::vector<float> panels(PanelCount(rows) * kPanelRows * cols, NAN), scratch(PanelRowFloats(cols));
    PackPanels(w, 1, PanelCount(rows), scratch.data(), panels.data());
    PackPanels(w, 0, 1, scratch.data(), panels.data());
    for (size_t r = 0; r < PanelCount(rows) * kPanelRows; ++r) {
      for (size_t c = 0; c < cols; ++c) {
        const float expected = r < rows ? widened[r * cols + c] : 0.0f;
        ASSERT_EQ(panels[r / kPanelRows * kPanelRows * cols + c * kPanelRows + r % kPanelRows], expected)
            << InfoOf(type).name << ", row " << r << ", column " << c;
      }
    }
  }
}

}  // namespace
}  // namespace prenorm
