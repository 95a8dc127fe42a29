// Every family against logits of transformers (tests/golden/make_families.py), from a GGUF file and from a Hugging Face
// folder of the same values, in prefill, in chunks and token by token; and what is refused by name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/quantize.h"
#include "runtime/model/parts.h"
#include "tests/support/golden_families.h"
#include "tests/support/hashed_model.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

fs::path Place(const std::string& name) {
  return fs::path(testing::TempDir()) / ("prenorm_families_" + std::to_string(getpid()) + "_" + name);
}

std::shared_ptr<const Model> Load(const fs::path& path) {
  Result<std::shared_ptr<const Model>> model = Model::Load(path.string());
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? *model : nullptr;
}

Status LoadStatus(const fs::path& path) { return Model::Load(path.string()).status(); }

class FamiliesTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = GoldenOf(GetParam());
    ids_ = golden_["ids"].get<std::vector<TokenId>>();
  }
  void TearDown() override {
    fs::remove_all(Place(GetParam()));
    fs::remove(Place(GetParam() + ".gguf"));
  }
  std::shared_ptr<const Model> LoadGguf() {
    HashedModel(golden_).WriteGguf(Place(GetParam() + ".gguf"));
    return Load(Place(GetParam() + ".gguf"));
  }
  std::shared_ptr<const Model> LoadFolder() {
    HashedModel(golden_).WriteFolder(Place(GetParam()));
    return Load(Place(GetParam()));
  }
  void ExpectGolden(const std::shared_ptr<const Model>& model) {
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->warnings().empty()) << model->warnings()[0];
    for (const size_t step : {ids_.size(), size_t{7}, size_t{1}}) {
      EXPECT_LE(GoldenDistance(golden_, AllLogits(model, ids_, step)), 1.0) << step << " tokens at a time";
    }
    EXPECT_LE(GoldenDistance(golden_, AllLogits(model, ids_, ids_.size(), /*threads=*/3)), 1.0) << "3 threads";
  }
  nlohmann::json golden_;
  std::vector<TokenId> ids_;
};

TEST_P(FamiliesTest, GgufFileGivesTheLogitsOfTransformers) { ExpectGolden(LoadGguf()); }  // F22, F32

TEST_P(FamiliesTest, HuggingFaceFolderGivesTheLogitsOfTransformers) { ExpectGolden(LoadFolder()); }  // F22

TEST_P(FamiliesTest, LastLogitsEqualTheLastOfAll) {
  const auto model = LoadGguf();
  ASSERT_NE(model, nullptr);
  const std::vector<float> all = AllLogits(model, ids_, ids_.size());
  SessionOptions options;
  options.cache = SessionOptions::Cache::kF32;
  options.context = ids_.size();
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->Eval(ids_).ok());
  const float* last = all.data() + all.size() - model->config().vocab_size;
  EXPECT_TRUE(std::equal((*session)->logits().begin(), (*session)->logits().end(), last));
}

// Quantized matrices are permuted in memory, each expert and each part of a fused matrix for itself. The tolerance is
// that of int8 activations; rows in wrong places give other logits altogether.
TEST_P(FamiliesTest, QuantizedToQ8_0StaysNearTheLogitsOfTransformers) {
  HashedModel(golden_).WriteGguf(Place(GetParam() + ".gguf"));
  const fs::path quantized = Place(GetParam() + "_q8_0.gguf");
  QuantizeOptions options;
  options.recipe = "Q8_0";
  const auto report = QuantizeFile(Place(GetParam() + ".gguf").string(), quantized.string(), options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto model = Load(quantized);
  fs::remove(quantized);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->quantization(), "Q8_0");
  const std::vector<float> whole = AllLogits(model, ids_, ids_.size());
  const auto picked = golden_["picked"].get<std::vector<size_t>>();
  double distance = 0.0, size = 0.0;
  for (size_t t = 0; t < ids_.size(); ++t) {
    for (size_t i = 0; i < picked.size(); ++i) {
      const double expected = golden_["logits"][t][i];
      distance += std::abs(static_cast<double>(whole[t * model->config().vocab_size + picked[i]]) - expected);
      size += std::abs(expected);
    }
  }
  EXPECT_LT(distance / size, 0.1);
  EXPECT_EQ(AllLogits(model, ids_, 7), whole) << "chunks change no bit";
  EXPECT_EQ(AllLogits(model, ids_, 1, /*threads=*/3), whole) << "nor do threads";
}

INSTANTIATE_TEST_SUITE_P(All, FamiliesTest, testing::ValuesIn(GoldenNames()),
                         [](const testing::TestParamInfo<std::string>& family) { return family.param; });

// Writes a model with its config.json changed and returns how loading it fails.
template <typename Change>
Status FolderStatus(const std::string& name, const Change& change) {
  nlohmann::json golden = GoldenOf(name);
  change(golden["config"]);
  const fs::path folder = Place("changed_" + name);
  HashedModel(golden).WriteFolder(folder);
  const Status status = LoadStatus(folder);
  fs::remove_all(folder);
  return status;
}

template <typename Change>
Status GgufStatus(const std::string& name, const Change& change) {
  const fs::path path = Place("changed_" + name + ".gguf");
  HashedModel(GoldenOf(name)).WriteGguf(path, change);
  const Status status = LoadStatus(path);
  fs::remove(path);
  return status;
}

void ExpectRefused(const Status& status, StatusCode code, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), code) << status.message();
  for (const std::string& word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

TEST(FamilyRefusalsTest, ArchitecturesByNameWithThoseThatAreSupported) {  // F29
  ExpectRefused(FolderStatus("llama", [](auto& config) { config["model_type"] = "rwkv"; }), StatusCode::kUnsupported,
                {"'rwkv'", "supported:", "qwen3_moe", "gpt2"});
  ExpectRefused(FolderStatus("llama", [](auto& config) { config.erase("model_type"); }), StatusCode::kUnsupported,
                {"model_type", "supported:"});
}

TEST(FamilyRefusalsTest, QuantizedFoldersByTheirMethod) {
  ExpectRefused(FolderStatus("llama",
                             [](auto& config) {
                               config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
                               config["num_hidden_layers"] = 4;  // A layer whose tensors have other names.
                             }),
                StatusCode::kUnsupported, {"'gptq'", "supported: folders in F32"});
}

TEST(FamilyRefusalsTest, RopeScalingByName) {
  for (const char* kind : {"proportional", "ntk"}) {
    ExpectRefused(FolderStatus("llama", [&](auto& config) { config["rope_parameters"]["rope_type"] = kind; }),
                  StatusCode::kUnsupported, {kind, "supported: none, linear, dynamic, llama3, yarn, longrope"});
    ExpectRefused(GgufStatus("phi3",
                             [&](auto& keys) {
                               keys["phi3.rope.scaling.type"] = {"string", kind};
                             }),
                  StatusCode::kUnsupported, {kind, "supported:"});
  }
}

TEST(FamilyRefusalsTest, ListsOfDivisorsOfOtherLengths) {
  ExpectRefused(FolderStatus("phi3_long",
                             [](auto& config) {
                               config["rope_parameters"]["long_factor"] = {1.0, 2.0};
                             }),
                StatusCode::kBadModel, {"long_factor", "expected 12", "found 2"});
}

TEST(FamilyRefusalsTest, ActivationsByName) {  // N28
  ExpectRefused(FolderStatus("llama", [](auto& config) { config["hidden_act"] = "mish"; }), StatusCode::kUnsupported,
                {"'mish'", "supported:", "silu"});
  EXPECT_TRUE(FolderStatus("llama", [](auto& config) { config["hidden_act"] = "gelu"; }).ok());
}

TEST(FamilyRefusalsTest, KindsOfLayersByName) {
  ExpectRefused(FolderStatus("gemma3", [](auto& config) { config["layer_types"][2] = "linear_attention"; }),
                StatusCode::kUnsupported, {"'linear_attention'", "supported:"});
  ExpectRefused(FolderStatus("qwen3moe", [](auto& config) { config["mlp_only_layers"] = {1}; }),
                StatusCode::kUnsupported, {"mixtures of experts in some layers only"});
}

TEST(FamilyRefusalsTest, WindowsWhereTheFamilyHasNone) {
  ExpectRefused(GgufStatus("olmo2", [](auto& keys) { keys["olmo2.attention.sliding_window"] = {"u32", 8}; }),
                StatusCode::kUnsupported, {"OLMo 3"});
}

TEST(FamilyRefusalsTest, SizesThatContradictTheTensors) {
  ExpectRefused(FolderStatus("qwen2", [](auto& config) { config["intermediate_size"] = 64; }), StatusCode::kBadModel,
                {"mlp.gate_proj.weight", "[96, 64]", "[96, 128]"});
  ExpectRefused(FolderStatus("qwen2", [](auto& config) { config.erase("num_hidden_layers"); }), StatusCode::kBadModel,
                {"num_hidden_layers"});
  ExpectRefused(GgufStatus("qwen3", [](auto& keys) { keys["qwen3.attention.head_count_kv"][1] = 3; }),
                StatusCode::kBadModel, {"4 query heads", "3 key-value heads"});
}

// None of them is as if the key were not there, which would be another model.
TEST(FamilyRefusalsTest, ValuesOfOtherTypes) {
  const struct {
    const char *family, *key, *value;
  } folders[] = {
      {"llama", "hidden_act", "3"},
      {"llama", "tie_word_embeddings", "\"yes\""},
      {"gemma3", "layer_types", "\"full_attention\""},
      {"gemma3", "layer_types", "[\"full_attention\", 5]"},
      {"smollm3", "no_rope_layers", "4"},
      {"smollm3", "no_rope_layers", "[1, 0.5, 1, 0]"},
      {"smollm3", "use_sliding_window", "1"},
      {"llama_yarn", "rope_scaling", "\"yarn\""},
      {"llama_yarn", "rope_parameters", "[1, 2]"},
  };
  for (const auto& [family, key, value] : folders) {
    SCOPED_TRACE(std::string(key) + ": " + value);
    ExpectRefused(FolderStatus(family, [&](auto& config) { config[key] = nlohmann::json::parse(value); }),
                  StatusCode::kBadModel, {key, "expected"});
  }
  ExpectRefused(GgufStatus("llama_yarn",
                           [](auto& keys) {
                             keys["llama.rope.scaling.type"] = {"u32", 2};
                           }),
                StatusCode::kBadModel, {"llama.rope.scaling.type", "a text"});
}

TEST(FamilyRefusalsTest, ListsOfFlagsThatAreNoneOrTooShort) {
  EXPECT_TRUE(FolderStatus("smollm3", [](auto& config) { config["no_rope_layers"] = {true, true, true, false}; }).ok());
  EXPECT_FALSE(FolderStatus("cohere2", [](auto& config) {
                 config.erase("layer_types");
                 config["sliding_window_pattern"] = {true, false};
               }).ok());
}

TEST(FamilyDetailsTest, StoredHeadSizeWins) {  // F18
  nlohmann::json golden = GoldenOf("qwen3");
  HashedModel(golden).WriteFolder(Place("heads"));
  const auto model = Load(Place("heads"));
  fs::remove_all(Place("heads"));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->config().head_dim, 32u);
  EXPECT_EQ(model->config().dim, 96u);
}

TEST(FamilyDetailsTest, ContextWithoutAWishKeepsToShortFrequencies) {
  HashedModel(GoldenOf("phi3_long")).WriteFolder(Place("longrope"));
  const auto model = Load(Place("longrope"));
  fs::remove_all(Place("longrope"));
  ASSERT_NE(model, nullptr);
  const auto session = Session::Create(model);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->capacity(), 16u) << "the original context, of 64 that the model can have";
}

TEST(FamilyDetailsTest, EmbeddingScaleOfGemmaIsRoundedToBf16OnRequest) {  // F23
  HashedModel(GoldenOf("gemma")).WriteGguf(Place("scale.gguf"));
  LoadOptions options;
  options.bf16_embedding_scale = true;
  const auto plain = Model::Load(Place("scale.gguf").string());
  const auto rounded = Model::Load(Place("scale.gguf").string(), options);
  fs::remove(Place("scale.gguf"));
  ASSERT_TRUE(plain.ok() && rounded.ok());
  EXPECT_EQ((*plain)->parts().block.embedding_scale, std::sqrt(96.0f));  // 9.797959
  EXPECT_EQ((*rounded)->parts().block.embedding_scale, 9.8125f);
}

// Newer folders hold the matrices of all experts in two tensors, and newer GGUF files those of gate and up in one.
TEST(FamilyDetailsTest, FusedExpertsGiveTheSameLogits) {
  const nlohmann::json golden = GoldenOf("qwen3moe");
  const auto ids = golden["ids"].get<std::vector<TokenId>>();
  HashedModel plain(golden), fused(golden);
  fused.FuseExperts();
  plain.WriteFolder(Place("plain"));
  fused.WriteFolder(Place("fused"));
  plain.WriteGguf(Place("plain.gguf"));
  fused.WriteGguf(Place("fused.gguf"));
  for (const char* ending : {"", ".gguf"}) {
    const auto a = Load(Place(std::string("plain") + ending)), b = Load(Place(std::string("fused") + ending));
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_TRUE(b->warnings().empty());
    EXPECT_EQ(AllLogits(a, ids, ids.size()), AllLogits(b, ids, ids.size()));
  }
  for (const char* name : {"plain", "fused", "plain.gguf", "fused.gguf"}) fs::remove_all(Place(name));
}

TEST(FamilyDetailsTest, GgufFilesMayHaveTemplatesWithNames) {
  HashedModel(GoldenOf("llama")).WriteGguf(Place("templates.gguf"), [](nlohmann::json& keys) {
    keys["tokenizer.chat_template"] = {"string", "D"};
    keys["tokenizer.chat_template.tool_use"] = {"string", "T"};
    keys["tokenizer.chat_templates_by_others"] = {"string", "O"};
  });
  const auto model = Load(Place("templates.gguf"));
  fs::remove(Place("templates.gguf"));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->chat_template(), "D");
  ASSERT_EQ(model->chat_templates().size(), 2u);
  EXPECT_EQ(model->chat_templates()[1].name, "tool_use");
  EXPECT_EQ(model->chat_templates()[1].source, "T");
}

TEST(FamilyDetailsTest, OldConfigJsonIsUnderstoodAsTheNewOne) {
  nlohmann::json golden = GoldenOf("gemma3");
  nlohmann::json& config = golden["config"];
  const auto ids = golden["ids"].get<std::vector<TokenId>>();
  HashedModel(golden).WriteFolder(Place("new_config"));
  // As written by the first releases: bases and scaling at the top, the pattern as a number, no list of layers.
  config["rope_theta"] = config["rope_parameters"]["full_attention"]["rope_theta"];
  config.erase("rope_parameters");
  config.erase("layer_types");
  config["rope_local_base_freq"] = 10000.0;
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 4.0}};
  config["sliding_window_pattern"] = 6;
  HashedModel(golden).WriteFolder(Place("old_config"));
  const auto a = Load(Place("new_config")), b = Load(Place("old_config"));
  fs::remove_all(Place("new_config"));
  fs::remove_all(Place("old_config"));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(AllLogits(a, ids, ids.size()), AllLogits(b, ids, ids.size()));
}

TEST(FamilyDetailsTest, TensorsThatNoLayerUsesAreReported) {  // F26
  nlohmann::json golden = GoldenOf("llama");
  golden["tensors"].push_back({{"hf", "model.extra.bias"},
                               {"gguf", "extra.bias"},
                               {"op", ""},
                               {"shape", {4}},
                               {"offset", 0.0},
                               {"amplitude", 1.0}});
  HashedModel(golden).WriteFolder(Place("extra"));
  const auto model = Load(Place("extra"));
  fs::remove_all(Place("extra"));
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("model.extra.bias"), std::string::npos);
}

TEST(FamilyDetailsTest, TiedOutputEqualsAStoredCopy) {  // F17
  const nlohmann::json golden = GoldenOf("llama_scaled");
  const auto ids = golden["ids"].get<std::vector<TokenId>>();
  WriteTiedAndStored(golden, Place("tied"), Place("stored"));
  const auto a = Load(Place("tied")), b = Load(Place("stored"));
  fs::remove_all(Place("tied"));
  fs::remove_all(Place("stored"));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_TRUE(a->config().tied_embeddings);
  EXPECT_FALSE(b->config().tied_embeddings);
  EXPECT_EQ(AllLogits(a, ids, ids.size()), AllLogits(b, ids, ids.size()));
}

TEST(FamilyDetailsTest, AFolderThatDeniesATieNeedsAnOutput) {
  nlohmann::json golden = GoldenOf("llama_scaled");
  golden["config"]["tie_word_embeddings"] = false;
  HashedModel(golden).WriteFolder(Place("untied"));
  const auto model = Model::Load(Place("untied"));
  fs::remove_all(Place("untied"));
  EXPECT_EQ(model.status().code(), StatusCode::kBadModel);
  EXPECT_NE(model.status().message().find("lm_head.weight"), std::string::npos) << model.status().message();
}

TEST(FamilyDetailsTest, TinyFolderAndTinyGgufAgree) {
  const auto gguf = LoadTinyModel(), folder = Load(PRENORM_SOURCE_DIR "/models/tiny/hf");
  ASSERT_TRUE(gguf != nullptr && folder != nullptr);
  std::vector<TokenId> ids;
  for (TokenId i = 0; i < 60; ++i) ids.push_back((i * 37 + 11) % static_cast<TokenId>(gguf->config().vocab_size));
  const std::vector<float> a = AllLogits(gguf, ids, ids.size()), b = AllLogits(folder, ids, ids.size());
  ASSERT_EQ(a.size(), b.size());
  float most = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  EXPECT_LE(most, 1e-5f * 10.0f);  // The order of a head's elements differs, and with it that of the sums.
  EXPECT_EQ(gguf->chat_template(), folder->chat_template());
  EXPECT_TRUE(std::equal(gguf->tokenizer().end_tokens().begin(), gguf->tokenizer().end_tokens().end(),
                         folder->tokenizer().end_tokens().begin(), folder->tokenizer().end_tokens().end()));
}

}  // namespace
}  // namespace prenorm
