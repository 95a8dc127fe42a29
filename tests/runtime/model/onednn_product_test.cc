// Products of BF16 matrices by oneDNN: as exact as our own, seen by a counter, off when asked. Skipped where oneDNN or
// the tiles of the processor are missing, but for the split of activations, which is our own.
#include "runtime/model/onednn_product.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/target.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

std::vector<float> RandomValues(size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(rng);
  return values;
}

TEST(OneDnnProductTest, TwoPlanesHoldSixteenBits) {
  std::vector<float> x = RandomValues(200, 1);
  x[3] = 0.0f, x[4] = 1e-30f, x[5] = -3e38f, x[6] = 65504.0f;
  std::vector<bf16> planes(400, bf16{0x7FFF});
  SplitBf16(x.data(), 50, 0, 2, 4, planes.data());
  SplitBf16(x.data(), 50, 2, 4, 4, planes.data());
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_NEAR(ToF32(planes[i]) + ToF32(planes[200 + i]), x[i], 0x1p-15f * std::abs(x[i])) << i;
  }
}

TEST(OneDnnProductTest, AgreesWithF64AndAddsToWhatIsThere) {
  if (!OneDnnServes()) GTEST_SKIP() << "no oneDNN, or no tiles for bf16";
  constexpr size_t kN = 70, kRows = 80, kCols = 96, kStride = 90;
  const std::vector<float> x = RandomValues(kN * kCols, 2), values = RandomValues(kRows * kCols, 3);
  std::vector<bf16> w(values.size());
  std::transform(values.begin(), values.end(), w.begin(), ToBf16);
  std::vector<bf16> planes(2 * x.size());
  SplitBf16(x.data(), kCols, 0, kN, kN, planes.data());
  const WeightMatrix matrix{DType::kBF16, kRows, kCols, w.data(), false};
  for (const bool accumulate : {false, true}) {
    std::vector<float> out(kN * kStride, 0.5f);
    for (const Range rows : {Range{0, 64}, Range{64, 79}}) {
      ASSERT_EQ(OneDnnMatMul(matrix, rows, planes.data(), kN, out.data(), kStride, accumulate).rows, rows.size());
    }
    for (size_t t = 0; t < kN; ++t) {
      for (size_t r = 0; r < kStride; ++r) {
        double sum = r >= 79 || accumulate ? 0.5 : 0.0;
        for (size_t c = 0; r < 79 && c < kCols; ++c) {
          sum += static_cast<double>(ToF32(w[r * kCols + c])) * x[t * kCols + c];
        }
        ASSERT_NEAR(out[t * kStride + r], sum, 1e-3) << t << " " << r;
      }
    }
  }
}

TEST(OneDnnProductTest, ABf16ModelGoesThroughItUnlessDeterministic) {
  if (!OneDnnServes()) GTEST_SKIP() << "no oneDNN, or no tiles for bf16";
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("prenorm_onednn" + std::to_string(getpid()) + ".gguf");
  QuantizeOptions quantize;
  quantize.recipe = "BF16";
  ASSERT_TRUE(QuantizeFile(TinyModelPath(), path, quantize).ok());
  Result<std::shared_ptr<const Model>> model = Model::Load(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<TokenId> tokens = SomeTokens(kOneDnnTokens + 16, **model);

  SessionOptions options;
  options.deterministic = true;
  const uint64_t before = OneDnnProducts();
  const std::vector<float> own = AllLogits(*MakeSession(*model, options), tokens);
  EXPECT_EQ(OneDnnProducts(), before);
  options.deterministic = false;
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    options.threads = threads;
    const std::vector<float> logits = AllLogits(*MakeSession(*model, options), tokens);
    if (first.empty()) first = logits;
    EXPECT_TRUE(SameBytes(logits, first)) << threads << " threads";
  }
  EXPECT_GT(OneDnnProducts(), before);
  float most = 1.0f;
  for (const float logit : own) most = std::max(most, std::abs(logit));
  for (size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(first[i], own[i], 2e-4f * most) << i;

  for (const SessionOptions::Norm norm : {SessionOptions::Norm::kAtInput, SessionOptions::Norm::kDeferred}) {
    options.norm = norm;
    const std::vector<float> logits = AllLogits(*MakeSession(*model, options), tokens);
    for (size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(logits[i], own[i], 2e-4f * most) << i;
  }
}

TEST(OneDnnProductTest, AForcedTargetKeepsItsOwnArithmetic) {
  ASSERT_TRUE(ForceTarget("AVX2").ok() || ForceTarget("SSE2").ok() || ForceTarget("NEON").ok());
  EXPECT_FALSE(OneDnnServes());
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
