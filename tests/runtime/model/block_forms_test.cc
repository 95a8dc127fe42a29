// Ways to place norms and to join branches: settings of one block description, each against plain torch
// (tests/golden/make_blocks.py). A text goes through as a batch, and again with its tokens one by one
// where that is causal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "prenorm/attention.h"
#include "runtime/loader/open.h"
#include "runtime/model/binder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/forward.h"
#include "runtime/model/panels.h"
#include "tests/support/hashed_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

nlohmann::json Read(const char* name) {
  std::ifstream file(std::string(PRENORM_SOURCE_DIR "/tests/golden/") + name);
  return nlohmann::json::parse(file);
}

// Norms stand in front of the branches, and at the end instead of behind the embeddings.
void MoveNormsToFront(ModelParts& parts) {
  for (LayerWeights& layer : parts.weights.layers) {
    layer.attn_norm = std::exchange(layer.post_attn_norm, {});
    layer.ffn_norm = std::exchange(layer.post_ffn_norm, {});
  }
}

void MoveEmbeddingNormToEnd(ModelParts& parts) {
  parts.weights.final_norm = std::exchange(parts.weights.embd_norm, {});
}

// One number a branch and no norms.
void ScaleBranchesOnly(ModelParts& parts) {
  for (size_t i = 0; i < parts.weights.layers.size(); ++i) {
    LayerWeights& layer = parts.weights.layers[i];
    layer.attn_scale = layer.ffn_scale = {0.5f - 0.1f * static_cast<float>(i)};
    layer.post_attn_norm = layer.post_ffn_norm = {};
  }
}

struct Form {
  const char* name;
  std::function<void(ModelParts&)> set;
};

const Form kForms[] = {
    {"post_ln", [](ModelParts&) {}},
    {"pre_ln",
     [](ModelParts& parts) {
       MoveNormsToFront(parts);
       MoveEmbeddingNormToEnd(parts);
     }},
    {"sandwich",
     [](ModelParts& parts) {
       MoveNormsToFront(parts);
       MoveEmbeddingNormToEnd(parts);
       parts.block.norm_behind = NormBehind::kBranch;
       for (LayerWeights& layer : parts.weights.layers) {
         layer.post_attn_norm = layer.attn_norm;
         layer.post_ffn_norm = layer.ffn_norm;
       }
     }},
    {"deepnorm",
     [](ModelParts& parts) {
       parts.block.stream_scale = std::pow(2.0f * static_cast<float>(parts.config.n_layers), 0.25f);
     }},
    {"skip_init", ScaleBranchesOnly},
    {"layer_scale",
     [](ModelParts& parts) {
       MoveNormsToFront(parts);
       for (size_t i = 0; i < parts.weights.layers.size(); ++i) {
         const std::string name = "layer_scale." + std::to_string(i);
         parts.weights.layers[i].attn_scale = HashedValues(name + ".attn", parts.config.dim, 0.5f, 0.4f);
         parts.weights.layers[i].ffn_scale = HashedValues(name + ".ffn", parts.config.dim, 0.5f, 0.4f);
       }
     }},
    {"fixup", ScaleBranchesOnly},
};

class BlockFormsTest : public testing::TestWithParam<const Form*> {
 protected:
  void SetUp() override {
    const nlohmann::json golden = Read("encoders.json")[0];
    ids_ = golden["texts"][0].get<std::vector<TokenId>>();
    picked_ = golden["picked"].get<std::vector<size_t>>();
    expected_ = Read("blocks.json")[GetParam()->name];
    path_ =
        fs::path(testing::TempDir()) / ("prenorm_forms_" + std::to_string(getpid()) + "_" + GetParam()->name + ".gguf");
    HashedModel model(golden);
    if (std::string(GetParam()->name) == "fixup") {
      const float scale = std::pow(static_cast<float>(golden["layers"].get<int>()), -0.5f);  // m = 2
      for (const HashedTensor& tensor : std::vector<HashedTensor>(model.tensors())) {
        const bool first = tensor.hf.ends_with("value.weight") || tensor.hf.ends_with("intermediate.dense.weight");
        if (first) model.Scale(tensor.hf, scale);
      }
    }
    model.WriteGguf(path_);
    Result<std::unique_ptr<TensorSource>> source = OpenModelFile(path_.string(), FileAccess::kRead);
    fs::remove(path_);
    ASSERT_TRUE(source.ok()) << source.status().message();
    parts_.source = std::move(*source);
    const Result<const Family*> family = FamilyOf(*parts_.source);
    ASSERT_TRUE(family.ok());
    Binder binder(*parts_.source);
    const Status built = BuildDecoder(**family, /*tokens=*/0, parts_, binder);
    ASSERT_TRUE(built.ok()) << built.message();
    GetParam()->set(parts_);
  }

  // The rows behind the last block, [ids, dim].
  std::vector<float> Run(std::span<const TokenId> ids, int threads) {
    ModelConfig one_layer = parts_.config;
    one_layer.n_layers = 1;
    Result<KvCache> cache = KvCache::Create(one_layer, DType::kF32, KeyCapacity(ids.size()));
    Result<StepBuffers> buffers =
        StepBuffers::Create(parts_.config, parts_.block, ids.size(), kAttentionChunk, threads, /*split_bf16=*/false);
    EXPECT_TRUE(cache.ok() && buffers.ok());
    std::vector<SequenceTile> tiles;
    for (size_t t = 0; t < ids.size(); t += kAttentionTokens) {
      tiles.push_back({t, std::min(kAttentionTokens, ids.size() - t), t, ids.size(), 0});
    }
    Step step;
    step.tokens = ids;
    step.batch = tiles;
    Team team(threads);
    EXPECT_TRUE(RunStep(parts_, step, *buffers, *cache, team, threads));
    const float* rows = HiddenRows(parts_, *buffers);
    return {rows, rows + ids.size() * parts_.config.dim};
  }

  void ExpectRowsOfTorch() {
    const std::vector<float> rows = Run(ids_, 2);
    double largest = 0.0;
    for (const auto& row : expected_) {
      for (const auto& value : row) largest = std::max(largest, std::abs(value.get<double>()));
    }
    for (size_t t = 0; t < ids_.size(); ++t) {
      for (size_t i = 0; i < picked_.size(); ++i) {
        EXPECT_NEAR(rows[t * parts_.config.dim + picked_[i]], expected_[t][i].get<float>(),
                    1e-5 * std::max(1.0, largest));
      }
    }
    EXPECT_EQ(Run(ids_, 1), rows) << "threads change no bit";
  }

  ModelParts parts_;
  std::vector<TokenId> ids_;
  std::vector<size_t> picked_;
  nlohmann::json expected_;
  fs::path path_;
};

// By the products of decoders, and from panels, which encoders get when they are loaded.
TEST_P(BlockFormsTest, GivesTheRowsOfTorch) {
  ExpectRowsOfTorch();
  ASSERT_TRUE(PackEncoderPanels(parts_).ok());
  ASSERT_NE(parts_.weights.layers[0].w_down.panels, nullptr);
  ExpectRowsOfTorch();
}

// One token alone takes other paths through the stages.
TEST_P(BlockFormsTest, OneTokenHasTheBitsOfItsRowAmongOthers) {
  ASSERT_TRUE(PackEncoderPanels(parts_).ok());
  for (LayerSpec& layer : parts_.block.layers) layer.window = 1;
  parts_.block.bidirectional = false;  // With a window of itself, a token sees no other: rows are independent.
  parts_.weights.position_embd = {};
  const std::vector<float> rows = Run(ids_, 2);
  const std::vector<float> one = Run(std::span(ids_).subspan(5, 1), 2);
  const auto from = rows.begin() + static_cast<std::ptrdiff_t>(5 * parts_.config.dim);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), from));
}

std::vector<const Form*> Forms() {
  std::vector<const Form*> forms;
  for (const Form& form : kForms) forms.push_back(&form);
  return forms;
}

INSTANTIATE_TEST_SUITE_P(All, BlockFormsTest, testing::ValuesIn(Forms()),
                         [](const auto& form) { return std::string(form.param->name); });

}  // namespace
}  // namespace prenorm
