// Checked entries of the norm layer: refusals name the numbers and touch nothing; good calls equal the unchecked ones.
#include "prenorm/norm_checked.h"

#include <gtest/gtest.h>

#include "prenorm/norm_forms.h"
#include "prenorm/norm_parallel.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

void ExpectRefused(const Status& status, std::initializer_list<const char*> words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

Status Rms(const float* x, size_t x_stride, float* out, size_t out_stride, size_t rows, size_t cols,
           float eps = 1e-6f) {
  RmsNormOptions options;
  options.eps = eps;
  return CheckedRmsNorm(x, x_stride, static_cast<const float*>(nullptr), out, out_stride, rows, cols, options);
}

TEST(NormCheckedTest, RefusesBadOperandsAndNamesTheNumbers) {  // N13
  std::vector<float> x(64, 1.0f);
  std::vector<float> y(64, -77.0f);
  ExpectRefused(Rms(x.data(), 8, y.data(), 8, 2, 0), {"RmsNorm", "cols is 0"});
  ExpectRefused(Rms(x.data(), 5, y.data(), 8, 2, 8), {"stride of x is 5", "cols = 8"});
  ExpectRefused(Rms(x.data(), 8, y.data(), 7, 2, 8), {"stride of out is 7", "cols = 8"});
  ExpectRefused(Rms(nullptr, 8, y.data(), 8, 2, 8), {"x is null", "2 rows of 8"});
  ExpectRefused(Rms(x.data(), 8, y.data(), 8, 2, 8, -1.0f), {"eps is -1.0"});
  ExpectRefused(Rms(x.data(), 8, y.data(), 8, 2, 8, std::nanf("")), {"eps"});
  ExpectRefused(Rms(x.data(), SIZE_MAX / 4, y.data(), 8, 100, 8), {"overflows"});
  for (const float v : y) EXPECT_EQ(v, -77.0f);
  ExpectRefused(Rms(x.data(), 8, x.data() + 4, 8, 2, 8), {"overlap", "x (2 rows of 8, stride 8)", "16 bytes"});
  ExpectRefused(Rms(x.data() + 4, 8, x.data(), 8, 2, 8), {"overlap", "-16 bytes"});
  for (const float v : x) EXPECT_EQ(v, 1.0f);
  ExpectRefused(CheckedSoftmax(x.data(), 3, 2, 8), {"Softmax", "stride of x is 3"});
  ExpectRefused(CheckedLogSumExp(x.data(), 8, nullptr, 2, 8), {"LogSumExp", "out is null"});
  LayerNormOptions layer;
  ExpectRefused(CheckedLayerNorm(x.data(), 8, x.data(), x.data(), x.data() + 1, 8, 2, 8, layer),
                {"LayerNorm", "overlap"});
}

TEST(NormCheckedTest, AllowsInPlaceAndColumnRangesOfOneMatrix) {
  std::vector<float> x(64, 2.0f);
  EXPECT_TRUE(Rms(x.data(), 8, x.data(), 8, 8, 8, 0.0f).ok());
  for (const float v : x) EXPECT_EQ(v, 1.0f);
  // Columns 0..7 to columns 8..15 of a matrix with 16 columns, and back.
  std::fill(x.begin(), x.end(), 2.0f);
  EXPECT_TRUE(Rms(x.data(), 16, x.data() + 8, 16, 4, 8, 0.0f).ok());
  EXPECT_TRUE(Rms(x.data() + 8, 16, x.data(), 16, 4, 8, 0.0f).ok());
  for (const float v : x) EXPECT_EQ(v, 1.0f);
  ExpectRefused(Rms(x.data(), 16, x.data() + 7, 16, 4, 8), {"overlap"});
  ExpectRefused(Rms(x.data() + 9, 16, x.data(), 16, 4, 8), {"overlap"});
  // A row may not be read as another type than it is written.
  std::vector<bf16> narrow(16);
  RmsNormOptions options;
  ExpectRefused(CheckedRmsNorm(reinterpret_cast<const float*>(narrow.data()), 8, static_cast<const float*>(nullptr),
                               narrow.data(), 8, 1, 8, options),
                {"overlap"});
}

TEST(NormCheckedTest, ZeroRowsIsValidForNullPointers) {  // N23
  EXPECT_TRUE(Rms(nullptr, 0, nullptr, 0, 0, 8).ok());
  EXPECT_TRUE(CheckedSoftmax(nullptr, 0, 0, 8).ok());
  ExpectRefused(Rms(nullptr, 0, nullptr, 0, 0, 0), {"cols is 0"});
}

TEST(NormCheckedTest, ResidualRefusesWhatOverwritesItsOperands) {
  std::vector<float> x(16, 1.0f), f(16, 1.0f), sum(16), out(16);
  const float* none = nullptr;
  RmsNormOptions options;
  const auto run = [&](const float* a, const float* b, float* s, float* o, const Residual& residual) {
    return CheckedResidualRmsNorm(a, 8, b, 8, s, 8, none, o, 8, 2, 8, residual, options);
  };
  EXPECT_TRUE(run(x.data(), f.data(), sum.data(), out.data(), Residual{}).ok());
  EXPECT_TRUE(run(x.data(), f.data(), x.data(), f.data(), Residual{}).ok());
  ExpectRefused(run(x.data(), f.data(), sum.data(), sum.data(), Residual{}), {"ResidualRmsNorm", "sum", "out"});
  Residual layer_scale;
  layer_scale.form = ResidualForm::kLayerScale;
  ExpectRefused(run(x.data(), f.data(), sum.data(), out.data(), layer_scale), {"lambda is null", "8 elements"});
}

TEST(NormCheckedTest, CompositionsRefuseAndElseEqualTheUncheckedAndTheParallelOnes) {
  const size_t cols = 4000;  // Enough for a team.
  const size_t rows = 21;
  const std::vector<float> x = RandomRow(rows * cols, 1, 0.5f), f = RandomRow(rows * cols, 2),
                           gain = RandomRow(5 * cols, 3);
  std::vector<float> expected(x.size()), y(x.size());
  LayerNormOptions options;
  options.eps = 1e-5f;
  const float* p = x.data();
  ScaleNorm(p, cols, 2.0f, expected.data(), cols, rows, cols, 1e-5f);
  EXPECT_TRUE(CheckedScaleNorm(p, cols, 2.0f, y.data(), cols, rows, cols, 1e-5f).ok());
  EXPECT_TRUE(SameBits(expected, y));
  ParallelScaleNorm(p, cols, 2.0f, y.data(), cols, rows, cols, 1e-5f, 3);
  EXPECT_TRUE(SameBits(expected, y));
  SandwichNorm(p, cols, f.data(), cols, gain.data(), gain.data(), expected.data(), cols, rows, cols, options);
  EXPECT_TRUE(
      CheckedSandwichNorm(p, cols, f.data(), cols, gain.data(), gain.data(), y.data(), cols, rows, cols, options).ok());
  EXPECT_TRUE(SameBits(expected, y));
  ParallelSandwichNorm(p, cols, f.data(), cols, gain.data(), gain.data(), y.data(), cols, rows, cols, options, 3);
  EXPECT_TRUE(SameBits(expected, y));
  AdaNorm(p, cols, 1.5f, 0.1f, expected.data(), cols, rows, cols, options);
  EXPECT_TRUE(CheckedAdaNorm(p, cols, 1.5f, 0.1f, y.data(), cols, rows, cols, options).ok());
  EXPECT_TRUE(SameBits(expected, y));
  ParallelAdaNorm(p, cols, 1.5f, 0.1f, y.data(), cols, rows, cols, options, 3);
  EXPECT_TRUE(SameBits(expected, y));
  // Five rows a condition: parts of three threads begin and end within one.
  AdaptiveLayerNorm(p, cols, gain.data(), nullptr, 5, GainForm::kGain, expected.data(), cols, rows, cols, options);
  EXPECT_TRUE(
      CheckedAdaptiveLayerNorm(p, cols, gain.data(), nullptr, 5, GainForm::kGain, y.data(), cols, rows, cols, options)
          .ok());
  EXPECT_TRUE(SameBits(expected, y));
  std::fill(y.begin(), y.end(), 0.0f);
  ParallelAdaptiveLayerNorm(p, cols, gain.data(), nullptr, 5, GainForm::kGain, y.data(), cols, rows, cols, options, 3);
  EXPECT_TRUE(SameBits(expected, y));

  std::fill(y.begin(), y.end(), -77.0f);
  ExpectRefused(CheckedScaleNorm(p, 3, 1.0f, y.data(), 8, 2, 8, 1e-5f), {"ScaleNorm", "stride of x is 3", "cols = 8"});
  ExpectRefused(
      CheckedSandwichNorm(p, 8, static_cast<const float*>(nullptr), 8, nullptr, nullptr, y.data(), 8, 2, 8, options),
      {"SandwichNorm", "f is null"});
  ExpectRefused(CheckedAdaNorm(p, 8, 1.0f, 0.1f, y.data(), 8, 2, 0, options), {"AdaNorm", "cols is 0"});
  ExpectRefused(CheckedAdaptiveLayerNorm(p, 8, nullptr, nullptr, 0, GainForm::kGain, y.data(), 8, 2, 8, options),
                {"AdaptiveLayerNorm", "rows_per_condition is 0"});
  const float negative[] = {1.0f, -2.0f};
  ExpectRefused(CheckedPowerNormEval(p, 2, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr),
                                     negative, y.data(), 2, {1, 2, 1}, 1e-5f),
                {"PowerNormEval", "running_quadratic_mean of channel 1 is -2.0"});
  for (const float v : y) ASSERT_EQ(v, -77.0f);
}

TEST(NormCheckedTest, OneNumberPerRowRefusesAndElseEqualsTheUncheckedAndTheParallelOnes) {
  const size_t cols = 4000;
  const size_t rows = 21;
  const std::vector<float> x = RandomRow(rows * cols, 1, 0.5f);
  std::vector<float> expected(rows), y(rows);
  RmsNormOptions options;
  options.eps = 1e-6f;
  InvRms(x.data(), cols, expected.data(), rows, cols, options);
  EXPECT_TRUE(CheckedInvRms(x.data(), cols, y.data(), rows, cols, options).ok());
  EXPECT_TRUE(SameBits(expected, y));
  ParallelInvRms(x.data(), cols, y.data(), rows, cols, options, 3);
  EXPECT_TRUE(SameBits(expected, y));
  LogSumExp(x.data(), cols, expected.data(), rows, cols);
  ParallelLogSumExp(x.data(), cols, y.data(), rows, cols, 3);
  EXPECT_TRUE(SameBits(expected, y));
  std::vector<float> both(64, 1.0f);
  ExpectRefused(CheckedInvRms(both.data(), 8, both.data() + 3, 4, 8, options), {"InvRms", "overlap", "inv_rms"});
  ExpectRefused(CheckedInvRms(both.data(), 7, y.data(), 4, 8, options), {"InvRms", "stride of x is 7"});
}

TEST(NormCheckedDeathTest, TheUncheckedEntriesAssertInDebugBuilds) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#else
  std::vector<float> x(64, 1.0f), y(64);
  const float* none = nullptr;
  RmsNormOptions rms;
  LayerNormOptions layer;
  EXPECT_DEATH(RmsNorm(x.data(), 8, none, y.data(), 8, 2, 0, rms), "Assert");
  EXPECT_DEATH(RmsNorm(x.data(), 7, none, y.data(), 8, 2, 8, rms), "Assert");
  EXPECT_DEATH(RmsNorm(x.data(), 8, none, x.data() + 4, 8, 2, 8, rms), "Assert");
  EXPECT_DEATH(LayerNorm(x.data(), 8, none, none, y.data(), 7, 2, 8, layer), "Assert");
  EXPECT_DEATH(GroupNorm(x.data(), 24, none, none, y.data(), 24, {1, 6, 4}, 4, layer), "Assert");
  EXPECT_DEATH(BatchNormTrain(x.data(), 6, none, none, y.data(), 6, {1, 6, 1}, nullptr, nullptr, {}), "Assert");
  EXPECT_DEATH(AdaNorm(x.data(), 7, 1.0f, 0.1f, y.data(), 8, 2, 8, layer), "Assert");
  EXPECT_DEATH(Softmax(x.data(), 7, 2, 8), "Assert");
#endif
}

}  // namespace
}  // namespace prenorm
