// The LayerNorms of an encoder: how many there are, what inspection and events call them.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "prenorm/inspect.h"
#include "tests/runtime/model/encoder_support.h"

namespace prenorm {
namespace {

// From shapes alone: no weight of that size is in the tree.
TEST(EncoderNormsTest, BertBaseHas25LayerNormsWith38400Parameters) {
  constexpr uint64_t kDim = 768, kFfn = 3072, kLayers = 12, kVocab = 30522, kPositions = 512, kKinds = 2;
  const TemporaryFolder folder;
  nlohmann::json header;
  uint64_t offset = 0, parameters = 0;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape) {
    uint64_t elements = 1;
    for (const uint64_t extent : shape) elements *= extent;
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {offset, offset + 4 * elements}}};
    offset += 4 * elements;
    parameters += elements;
  };
  const auto linear = [&](const std::string& name, uint64_t out, uint64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".LayerNorm.weight", {kDim});
    add(name + ".LayerNorm.bias", {kDim});
  };
  add("embeddings.word_embeddings.weight", {kVocab, kDim});
  add("embeddings.position_embeddings.weight", {kPositions, kDim});
  add("embeddings.token_type_embeddings.weight", {kKinds, kDim});
  norm("embeddings");
  for (uint64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char* name : {"query", "key", "value"}) linear(layer + "attention.self." + name, kDim, kDim);
    linear(layer + "attention.output.dense", kDim, kDim);
    norm(layer + "attention.output");
    linear(layer + "intermediate.dense", kFfn, kDim);
    linear(layer + "output.dense", kDim, kFfn);
    norm(layer + "output");
  }
  linear("pooler.dense", kDim, kDim);
  EXPECT_EQ(parameters, 109482240u);

  fs::create_directories(folder / "base");
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  folder.Write("base/model.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
  fs::resize_file(folder / "base/model.safetensors", sizeof length + length + offset);  // A hole, not bytes.
  folder.Write("base/config.json", R"({"model_type": "bert", "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 512, "layer_norm_eps": 1e-12})");
  folder.Write("base/tokenizer.json",
               R"({"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})");
  const Result<Inspection> found = Inspect((folder / "base").string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->supported) << (found->reasons.empty() ? "" : found->reasons[0]);
  EXPECT_EQ(found->norms.size(), 1 + 2 * kLayers);
  EXPECT_EQ(found->norm_parameters, 38400u);
  EXPECT_EQ(found->parameters, parameters);
  EXPECT_NEAR(100.0 * static_cast<double>(found->norm_parameters) / static_cast<double>(found->parameters), 0.035,
              5e-4);
  size_t embedding = 0, attention = 0, feed_forward = 0;
  for (const InspectedNorm& each : found->norms) {
    EXPECT_EQ(each.kind, "layer_norm");
    EXPECT_EQ(each.size, kDim);
    EXPECT_EQ(each.eps, 1e-12f);
    embedding += each.site == "embd_norm" && each.layer == -1;
    attention += each.site == "post_attn_norm" && each.layer >= 0;
    feed_forward += each.site == "post_ffn_norm" && each.layer >= 0;
  }
  EXPECT_EQ(embedding, 1u);
  EXPECT_EQ(attention, kLayers);
  EXPECT_EQ(feed_forward, kLayers);
}

// Events of one run name the same sites.
TEST(EncoderNormsTest, EventsNameEveryLayerNorm) {
  class Sites : public OpObserver {
   public:
    void Record(const OpEvent& event) override {
      if (event.kind == OpKind::kNorm) names.insert(std::string(OpSiteName(event.site)) + std::to_string(event.layer));
    }
    std::set<std::string> names;
  } sites;
  const TemporaryFolder folder;
  HashedModel(GoldenOf("bert")).WriteFolder(folder / "model");
  const auto encoder = Make(Load(folder / "model"), {.threads = 1});
  encoder->set_observer(&sites);
  Embeddings(*encoder, {{1, 2, 3}});
  EXPECT_EQ(sites.names.size(), 1u + 2u * 3u);
  EXPECT_TRUE(sites.names.contains("embd_norm-1"));
  EXPECT_TRUE(sites.names.contains("post_attn_norm0"));
  EXPECT_TRUE(sites.names.contains("post_ffn_norm2"));
}

}  // namespace
}  // namespace prenorm
