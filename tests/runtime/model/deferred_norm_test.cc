// Norms deferred to the pack of the next product: as exact as norms at the input, in every family, at every place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/target.h"
#include "tests/support/hashed_model.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

using Norm = SessionOptions::Norm;

std::vector<float> Logits(const std::shared_ptr<const Model>& model, std::span<const TokenId> tokens, Norm norm,
                          int threads = 2, size_t chunk = 512) {
  SessionOptions options;
  options.norm = norm;
  options.threads = threads;
  options.chunk = chunk;
  options.context = tokens.size();
  options.cache = SessionOptions::Cache::kF32;
  return AllLogits(*MakeSession(model, options), tokens);
}

double LargestDistance(std::span<const float> a, std::span<const float> b) {
  double most = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double distance = std::abs(static_cast<double>(a[i]) - b[i]);
    most = std::isnan(distance) ? INFINITY : std::max(most, distance);
  }
  return most;
}

double LargestMagnitude(std::span<const float> a) { return LargestDistance(a, std::vector<float>(a.size(), 0.0f)); }

// KL divergence of row b from row a, in f64.
double Divergence(std::span<const float> a, std::span<const float> b) {
  const auto log_sum = [](std::span<const float> row) {
    const double max = *std::max_element(row.begin(), row.end());
    double sum = 0.0;
    for (const float logit : row) sum += std::exp(logit - max);
    return max + std::log(sum);
  };
  const double sum_a = log_sum(a), sum_b = log_sum(b);
  double divergence = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    divergence += std::exp(a[i] - sum_a) * ((a[i] - sum_a) - (b[i] - sum_b));
  }
  return divergence;
}

// A model file that goes away.
class ModelFile {
 public:
  explicit ModelFile(const std::string& name)
      : path_(fs::temp_directory_path() / ("prenorm_deferred_" + std::to_string(getpid()) + name + ".gguf")) {}
  ~ModelFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }
  std::shared_ptr<const Model> Load() const {
    Result<std::shared_ptr<const Model>> model = Model::Load(path_.string());
    if (!model.ok()) ADD_FAILURE() << model.status().message();
    return model.ok() ? *model : nullptr;
  }

 private:
  fs::path path_;
};

nlohmann::json Goldens() {
  std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
  return nlohmann::json::parse(file);
}

TEST(DeferredNormTest, EveryFamilyStaysNearItsNormsAtTheInput) {
  for (const nlohmann::json& golden : Goldens()) {
    SCOPED_TRACE(golden["name"].get<std::string>());
    const ModelFile file("family");
    HashedModel(golden).WriteGguf(file.path());
    const auto model = file.Load();
    ASSERT_NE(model, nullptr);
    const auto ids = golden["ids"].get<std::vector<TokenId>>();
    const std::vector<float> expected = Logits(model, ids, Norm::kAtInput);
    const std::vector<float> found = Logits(model, ids, Norm::kDeferred);
    EXPECT_LE(LargestDistance(found, expected), 1e-5 * std::max(1.0, LargestMagnitude(expected)));
    EXPECT_TRUE(SameBytes(Logits(model, ids, Norm::kDeferred, /*threads=*/1, /*chunk=*/1), found));
    EXPECT_TRUE(SameBytes(Logits(model, ids, Norm::kDeferred, /*threads=*/3, /*chunk=*/7), found));
  }
}

// A fold that is forgotten at one place leaves the logits where they were when that place's gain changes.
TEST(DeferredNormTest, TheGainOfEveryPlaceReachesTheLogits) {
  for (const nlohmann::json& golden : Goldens()) {
    if (golden["name"] != "llama" && golden["name"] != "gemma3") continue;
    const auto ids = golden["ids"].get<std::vector<TokenId>>();
    const ModelFile original("original");
    HashedModel(golden).WriteGguf(original.path());
    const std::vector<float> before = Logits(original.Load(), ids, Norm::kDeferred);
    size_t places = 0;
    const HashedModel unchanged(golden);
    for (const HashedTensor& tensor : unchanged.tensors()) {
      if (tensor.hf.find("norm") == std::string::npos) continue;
      SCOPED_TRACE(tensor.hf);
      ++places;
      HashedModel changed(golden);
      changed.Scale(tensor.hf, 1.25f);
      const ModelFile file("changed");
      changed.WriteGguf(file.path());
      const auto model = file.Load();
      ASSERT_NE(model, nullptr);
      const std::vector<float> expected = Logits(model, ids, Norm::kAtInput);
      const double scale = std::max(1.0, LargestMagnitude(expected));
      EXPECT_LE(LargestDistance(Logits(model, ids, Norm::kDeferred), expected), 1e-5 * scale);
      EXPECT_GT(LargestDistance(before, expected), 1e-4 * scale) << "the change cannot be seen";
    }
    EXPECT_GE(places, 7u);
  }
}

TEST(DeferredNormTest, QuantizedWeightsMoveLogitsByTiesOnly) {
  const ModelFile file("q8");
  QuantizeOptions options;
  options.recipe = "Q8_0";
  ASSERT_TRUE(QuantizeFile(TinyModelPath(), file.path(), options).ok());
  const std::vector<TokenId> tokens =
      *LoadTinyModel()->tokenizer().Encode("Once upon a time there was a small fox named Mia.");
  for (const std::string& target : RunnableTargets()) {
    SCOPED_TRACE(target);
    ASSERT_TRUE(ForceTarget(target).ok());
    const auto model = file.Load();
    ASSERT_NE(model, nullptr);
    const std::vector<float> expected = Logits(model, tokens, Norm::kAtInput);
    const std::vector<float> found = Logits(model, tokens, Norm::kDeferred);
    const std::vector<float> exact = Logits(LoadTinyModel(), tokens, Norm::kAtInput);
    const size_t vocab_size = model->config().vocab_size;
    // Which way a tie of two int8 codes falls is another draw of the rounding noise, never more than that noise.
    double by_ties = 0.0, by_quantizing = 0.0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      const auto a = std::span(expected).subspan(t * vocab_size, vocab_size);
      const auto b = std::span(found).subspan(t * vocab_size, vocab_size);
      const auto unquantized = std::span(exact).subspan(t * vocab_size, vocab_size);
      by_ties += Divergence(a, b);
      by_quantizing += Divergence(unquantized, a);
      // Another token leads at most where the lead is smaller than the noise.
      const auto best = std::max_element(b.begin(), b.end()) - b.begin();
      EXPECT_LE(*std::max_element(a.begin(), a.end()) - a[static_cast<size_t>(best)], LargestDistance(unquantized, a));
    }
    EXPECT_LE(by_ties, by_quantizing);
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST(DeferredNormTest, TargetsWithFusedMultiplyAddGiveTheSameBytes) {
  std::vector<float> expected;
  for (const std::string& target : RunnableTargets()) {
    if (target.starts_with("SSE")) continue;
    ASSERT_TRUE(ForceTarget(target).ok());
    const auto model = LoadTinyModel();
    const std::vector<float> logits = Logits(model, SomeTokens(20, *model), Norm::kDeferred);
    if (expected.empty()) expected = logits;
    EXPECT_TRUE(SameBytes(logits, expected)) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
