// Norms in other places and by stand-ins: what keeps the logits, and what a stand-in is told.
#include "prenorm/norm_experiment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "prenorm/norm.h"
#include "tests/support/hashed_model.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

float Distance(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

class NormExperimentTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
    tokens_ = SomeTokens(24, *model_);
  }

  void ExpectPlacesAgree() {
    NormExperiment redundant{NormPlacement::kRedundant}, stage{NormPlacement::kStage}, apart{NormPlacement::kApart};
    const std::vector<float> expected = Logits(nullptr, 1);
    for (const int threads : {1, 2, 3}) {
      const std::vector<float> d1 = Logits(&redundant, threads);
      EXPECT_TRUE(SameBytes(Logits(&stage, threads), d1)) << threads;
      EXPECT_LT(Distance(d1, expected), 1e-4f) << threads;
      EXPECT_LT(Distance(Logits(&apart, threads), expected), 1e-4f) << threads;
    }
  }

  // A mixture of experts of tests/golden/families.json, with weights of its own.
  void UseMixture(const std::string& name) {
    std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
    const nlohmann::json families = nlohmann::json::parse(file);
    const auto golden =
        std::find_if(families.begin(), families.end(), [&](const auto& each) { return each["name"] == name; });
    ASSERT_NE(golden, families.end());
    const std::string path = testing::TempDir() + "norm_experiment_" + name + std::to_string(getpid()) + ".gguf";
    HashedModel(*golden).WriteGguf(path);
    const auto loaded = Model::Load(path);
    std::filesystem::remove(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    tokens_ = SomeTokens(24, *model_);
  }

  // Logits of all tokens: a prompt of 16, the others one by one.
  std::vector<float> Logits(const NormExperiment* experiment, int threads) {
    SessionOptions options;
    options.threads = threads;
    const auto session = MakeSession(model_, options);
    session->set_norm_experiment(experiment);
    std::vector<float> all = AllLogits(*session, std::span(tokens_).first(16));
    for (size_t i = 16; i < tokens_.size(); ++i) {
      const std::vector<float> one = AllLogits(*session, std::span(tokens_).subspan(i, 1));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  std::shared_ptr<const Model> model_;
  std::vector<TokenId> tokens_;
};

TEST_F(NormExperimentTest, PlacesDoNotChangeWhatIsComputed) { ExpectPlacesAgree(); }

TEST_F(NormExperimentTest, PlacesDoNotChangeWhatAMixtureComputes) {
  for (const char* name : {"mixtral", "qwen2moe", "qwen3moe"}) {
    SCOPED_TRACE(name);
    UseMixture(name);
    ExpectPlacesAgree();
  }
}

// RMSNorm by the plain formula in f64; counts its calls.
class PlainRms : public NormStandIn {
 public:
  void Normalize(const NormCall& call) override {
    for (size_t r = 0; r < call.rows; ++r) {
      const float* x = call.x + r * call.cols;
      double squares = 0.0;
      for (size_t c = 0; c < call.cols; ++c) squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(call.cols) + static_cast<double>(call.eps));
      for (size_t c = 0; c < call.cols; ++c) {
        call.out[r * call.cols + c] =
            static_cast<float>(static_cast<double>(x[c]) * factor * static_cast<double>(call.gain[c]));
      }
    }
    if (call.layer_norm || call.bias != nullptr) ++wrong;
    if (call.thread == 0) rows[{call.layer, call.site}] += call.rows;
  }
  std::map<std::pair<int32_t, OpSite>, size_t> rows;  // Of thread 0.
  std::atomic<int> wrong{0};
};

TEST_F(NormExperimentTest, AStandInSeesEveryNormAndItsResultIsUsed) {
  PlainRms plain;
  const NormExperiment experiment{NormPlacement::kEngine, &plain};
  const std::vector<float> own = Logits(nullptr, 1), replaced = Logits(&experiment, 1);
  EXPECT_LT(Distance(own, replaced), 1e-4f);
  EXPECT_EQ(plain.wrong, 0);
  const auto n_layers = static_cast<int32_t>(model_->config().n_layers);
  EXPECT_EQ(plain.rows.size(), 2 * model_->config().n_layers + 1);
  for (int32_t layer = 0; layer < n_layers; ++layer) {
    EXPECT_EQ((plain.rows[{layer, OpSite::kAttnNorm}]), tokens_.size());
    EXPECT_EQ((plain.rows[{layer, OpSite::kFfnNorm}]), tokens_.size());
  }
  EXPECT_EQ((plain.rows[{-1, OpSite::kFinalNorm}]), tokens_.size());
}

// Leaves one norm out.
class WithoutOne : public PlainRms {
 public:
  void Normalize(const NormCall& call) override {
    if (call.layer != 1 || call.site != OpSite::kFfnNorm) return PlainRms::Normalize(call);
    if (call.out != call.x) std::memcpy(call.out, call.x, call.rows * call.cols * sizeof(float));
  }
};

TEST_F(NormExperimentTest, ADifferentNormGivesDifferentLogits) {
  WithoutOne without;
  const NormExperiment experiment{NormPlacement::kEngine, &without};
  EXPECT_GT(Distance(Logits(nullptr, 2), Logits(&experiment, 2)), 1e-2f);
}

}  // namespace
}  // namespace prenorm
