// Checked entries of the norm layer: refusals name the numbers and touch nothing; good calls equal the unchecked ones.
#include "prenorm/norm_checked.h"

#include <gtest/gtest.h>

#include "prenorm/norm_c.h"
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

TEST(NormCTest, EqualsTheCxxFunctionsAndReportsErrors) {
  const size_t cols = 100;
  const std::vector<float> x = RandomRow(cols, 1);
  const std::vector<bf16> gain = Narrowed<bf16>(RandomRow(cols, 2));
  std::vector<float> expected(cols), y(cols);
  RmsNormOptions options;
  options.eps = 1e-6f;
  options.gain_form = GainForm::kOnePlusGain;
  RmsNorm(x.data(), cols, gain.data(), expected.data(), cols, 1, cols, options);
  prenorm_rms_norm_options c_options = {};
  c_options.eps = 1e-6f;
  c_options.one_plus_gain = 1;
  char message[64];
  const auto run = [&](int gain_type, size_t width, const prenorm_rms_norm_options* o) {
    return prenorm_rms_norm(PRENORM_NORM_F32, x.data(), cols, gain_type, gain.data(), PRENORM_NORM_F32, y.data(), cols,
                            1, width, o, 1, message, sizeof(message));
  };
  EXPECT_EQ(run(PRENORM_NORM_BF16, cols, &c_options), PRENORM_NORM_OK);
  EXPECT_TRUE(SameBits(expected, y));
  EXPECT_STREQ(message, "");
  EXPECT_EQ(run(PRENORM_NORM_BF16, 0, &c_options), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "RmsNorm: cols is 0, expected at least 1");
  EXPECT_EQ(run(7, cols, &c_options), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_EQ(run(PRENORM_NORM_BF16, cols, nullptr), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_EQ(prenorm_softmax(nullptr, 8, 1, 8, 1, nullptr, 0), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_STREQ(prenorm_norm_target(), ActiveTarget());
}

}  // namespace
}  // namespace prenorm
