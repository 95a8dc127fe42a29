// Sessions of quantized weights: the tiny model in every recipe.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "prenorm/quantize.h"
#include "prenorm/target.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

class QuantizedSessionTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("prenorm_" + GetParam() + std::to_string(getpid()) + ".gguf");
    QuantizeOptions options;
    options.recipe = GetParam();
    const Result<QuantizeReport> report = QuantizeFile(TinyModelPath(), path_, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::shared_ptr<const Model> Load(bool use_mmap = true) {
    LoadOptions options;
    options.use_mmap = use_mmap;
    Result<std::shared_ptr<const Model>> model = Model::Load(path_, options);
    if (!model.ok()) ADD_FAILURE() << model.status().message();
    return model.ok() ? *model : nullptr;
  }

  std::string path_;
};

TEST_P(QuantizedSessionTest, BytesDoNotDependOnThreadsChunksOrMapping) {
  const auto mapped = Load(), copied = Load(/*use_mmap=*/false);
  ASSERT_TRUE(mapped != nullptr && copied != nullptr);
  const std::vector<TokenId> tokens = SomeTokens(40, *mapped);
  SessionOptions options;
  options.threads = 1;
  const std::vector<float> expected = AllLogits(*MakeSession(mapped, options), tokens);
  EXPECT_TRUE(SameBytes(AllLogits(*MakeSession(copied, options), tokens), expected));
  for (const int threads : {2, 3}) {
    for (const size_t chunk : {1, 7, 512}) {
      options.threads = threads;
      options.chunk = chunk;
      EXPECT_TRUE(SameBytes(AllLogits(*MakeSession(mapped, options), tokens), expected))
          << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST_P(QuantizedSessionTest, LogitsStayNearThoseOfTheUnquantizedModel) {
  const auto model = Load(), exact = LoadTinyModel();
  ASSERT_TRUE(model != nullptr && exact != nullptr);
  // Text that the model knows: random tokens would give flat logits.
  const std::vector<TokenId> tokens = *exact->tokenizer().Encode("Once upon a time there was a small fox named Mia.");
  const std::vector<float> a = AllLogits(*MakeSession(model), tokens), b = AllLogits(*MakeSession(exact), tokens);
  double squares = 0.0, errors = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += static_cast<double>(b[i]) * b[i];
    errors += static_cast<double>(a[i] - b[i]) * (a[i] - b[i]);
  }
  // Beside the weights: activations of 8 bits for quantized ones, a cache of 11 bits for the others.
  const double bits = GetParam()[0] == 'Q' ? std::min(GetParam()[1] - '0', 7) : 11;
  EXPECT_LT(std::sqrt(errors / squares), 2.0 * std::exp2(-bits)) << "relative error of all logits";
}

TEST_P(QuantizedSessionTest, TargetsWithFusedMultiplyAddGiveTheSameBytes) {
  std::vector<float> expected;
  for (const std::string& target : RunnableTargets()) {
    if (target.starts_with("SSE")) continue;
    ASSERT_TRUE(ForceTarget(target).ok());
    const auto model = Load();
    SessionOptions options;
    options.cache = SessionOptions::Cache::kF32;
    const std::vector<float> logits = AllLogits(*MakeSession(model, options), SomeTokens(20, *model));
    if (expected.empty()) expected = logits;
    EXPECT_TRUE(SameBytes(logits, expected)) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

INSTANTIATE_TEST_SUITE_P(AllRecipes, QuantizedSessionTest, testing::ValuesIn(QuantizeRecipes()),
                         [](const testing::TestParamInfo<std::string>& test) { return test.param; });

}  // namespace
}  // namespace prenorm
