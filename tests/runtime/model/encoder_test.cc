// Encoders against transformers (tests/golden/make_encoders.py), from a folder and from a GGUF file; one text's vector
// whatever stands beside it; decoders as embedders; what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/inspect.h"
#include "prenorm/model.h"
#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "runtime/model/parts.h"
#include "tests/support/hashed_model.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::vector<TokenId>>;

const nlohmann::json& GoldenOf(const std::string& name) {
  static const nlohmann::json goldens = [] {
    std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/encoders.json");
    return nlohmann::json::parse(file);
  }();
  for (const auto& golden : goldens) {
    if (golden["name"] == name) return golden;
  }
  ADD_FAILURE() << "no golden values of " << name;
  return goldens[0];
}

class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("prenorm_encoder_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  fs::path path_;
};

std::shared_ptr<const Model> Load(const fs::path& path) {
  Result<std::shared_ptr<const Model>> model = Model::Load(path.string());
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? *model : nullptr;
}

std::unique_ptr<Encoder> Make(std::shared_ptr<const Model> model, const EncoderOptions& options = {}) {
  Result<std::unique_ptr<Encoder>> encoder = Encoder::Create(std::move(model), options);
  if (!encoder.ok()) ADD_FAILURE() << encoder.status().message();
  return encoder.ok() ? std::move(*encoder) : nullptr;
}

std::vector<float> Embeddings(Encoder& encoder, const Texts& texts) {
  std::vector<float> out(texts.size() * encoder.dim());
  const Status status = encoder.EmbedTokens(texts, out.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

void ExpectNear(const std::vector<float>& rows, size_t dim, const nlohmann::json& expected,
                const std::vector<size_t>& picked) {
  ASSERT_EQ(rows.size(), expected.size() * dim);
  for (size_t r = 0; r < expected.size(); ++r) {
    for (size_t i = 0; i < picked.size(); ++i) {
      EXPECT_NEAR(rows[r * dim + picked[i]], expected[r][i].get<float>(), 2e-5f) << "row " << r;
    }
  }
}

class EncoderTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const nlohmann::json& golden = GoldenOf(GetParam());
    HashedModel(golden).WriteFolder(folder_ / "model");
    HashedModel(golden).WriteGguf(folder_ / "model.gguf");
    texts_ = golden["texts"].get<Texts>();
    picked_ = golden["picked"].get<std::vector<size_t>>();
  }
  Folder folder_;
  Texts texts_;
  std::vector<size_t> picked_;
};

// Mapped weights leave memory once they are packed; a text of one token reads them where they were.
TEST_P(EncoderTest, TheSameBitsHoweverTheFileCameIntoMemory) {
  const Texts texts = {texts_[0], {texts_[0][0]}};
  const auto vectors = [&](const fs::path& path, const LoadOptions& options) {
    const Result<std::shared_ptr<const Model>> model = Model::Load(path.string(), options);
    if (!model.ok()) ADD_FAILURE() << model.status().message();
    if (!model.ok()) return std::vector<float>();
    std::vector<float> rows = Embeddings(*Make(*model), texts);
    const std::vector<float> alone = Embeddings(*Make(*model), {texts[1]});
    rows.insert(rows.end(), alone.begin(), alone.end());
    return rows;
  };
  LoadOptions read, prepared;
  read.use_mmap = false;
  prepared.prepared_folder = (folder_ / "prepared").string();
  for (const std::string name : {"model", "model.gguf"}) {
    const std::vector<float> wanted = vectors(folder_ / name, read);
    ASSERT_FALSE(wanted.empty());
    EXPECT_EQ(vectors(folder_ / name, {}), wanted) << name;
    EXPECT_EQ(vectors(folder_ / name, prepared), wanted) << name << ", which makes the prepared file";
    EXPECT_EQ(vectors(folder_ / name, prepared), wanted) << name << ", which uses it";
  }
}

TEST_P(EncoderTest, RowsAreThoseOfTransformersFromFolderAndGguf) {
  const nlohmann::json& golden = GoldenOf(GetParam());
  for (const std::string name : {"model", "model.gguf"}) {
    // GGUF files leave the activation to the architecture: that of BERT is the erf form.
    if (name == "model.gguf" && golden["config"]["hidden_act"] != "gelu") continue;
    const auto model = Load(folder_ / name);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->warnings().empty());
    const auto encoder = Make(model, {.threads = 2});
    ASSERT_NE(encoder, nullptr);
    size_t rows = 0;
    nlohmann::json expected = nlohmann::json::array();
    for (const auto& text : golden["hidden"]) expected.insert(expected.end(), text.begin(), text.end());
    for (const auto& text : texts_) rows += text.size();
    std::vector<float> hidden(rows * encoder->dim());
    ASSERT_TRUE(encoder->HiddenStates(texts_, hidden.data()).ok());
    EXPECT_EQ(encoder->tokens(), rows);
    ExpectNear(hidden, encoder->dim(), expected, picked_);
  }
}

TEST_P(EncoderTest, PoolsByMeanAndFirstToken) {
  const nlohmann::json& golden = GoldenOf(GetParam());
  const auto model = Load(folder_ / "model");
  ASSERT_NE(model, nullptr);
  const auto mean = Make(model, {.pooling = Pooling::kMean, .normalize = false});
  ExpectNear(Embeddings(*mean, texts_), mean->dim(), golden["mean"], picked_);
  const auto cls = Make(model, {.pooling = Pooling::kCls, .normalize = false});
  ExpectNear(Embeddings(*cls, texts_), cls->dim(), golden["cls"], picked_);
}

TEST_P(EncoderTest, ATextsVectorDependsOnNothingElse) {
  const auto model = Load(folder_ / "model");
  ASSERT_NE(model, nullptr);
  const auto alone = Make(model, {.threads = 1});
  const size_t dim = alone->dim();
  std::vector<float> expected;
  for (const auto& text : texts_) {
    const std::vector<float> one = Embeddings(*alone, {text});
    double length = 0.0;
    for (const float v : one) length += static_cast<double>(v) * static_cast<double>(v);
    EXPECT_NEAR(length, 1.0, 1e-6);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  for (const int threads : {1, 2, 3}) {
    for (const size_t batch : {size_t{1}, size_t{20}, size_t{50}, size_t{1024}}) {
      const auto encoder = Make(model, {.threads = threads, .batch_tokens = batch});
      EXPECT_EQ(Embeddings(*encoder, texts_), expected) << threads << " threads, batches of " << batch;
    }
  }
  Texts many;  // Another order, with neighbours of every length.
  std::vector<float> expected_many;
  for (size_t i = 0; i < 23; ++i) {
    const size_t which = i * 3 % texts_.size();
    many.push_back(texts_[which]);
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(which * dim);
    expected_many.insert(expected_many.end(), from, from + static_cast<std::ptrdiff_t>(dim));
  }
  EXPECT_EQ(Embeddings(*Make(model, {.threads = 2}), many), expected_many);
}

INSTANTIATE_TEST_SUITE_P(All, EncoderTest, testing::Values("bert", "roberta", "bert_tanh"),
                         [](const auto& name) { return std::string(name.param); });

// The tolerance is that of int8 activations and 8-bit weights.
TEST(EncoderDetailsTest, QuantizedStaysNearAndKeepsItsBitsInBatches) {
  const Folder folder;
  const nlohmann::json& golden = GoldenOf("bert");
  HashedModel(golden).WriteGguf(folder / "f32.gguf");
  QuantizeOptions options;
  options.recipe = "Q8_0";
  ASSERT_TRUE(QuantizeFile((folder / "f32.gguf").string(), (folder / "q8.gguf").string(), options).ok());
  const auto texts = golden["texts"].get<Texts>();
  const auto plain = Make(Load(folder / "f32.gguf")), quantized = Make(Load(folder / "q8.gguf"));
  ASSERT_TRUE(plain != nullptr && quantized != nullptr);
  const std::vector<float> a = Embeddings(*plain, texts), b = Embeddings(*quantized, texts);
  for (size_t r = 0; r < texts.size(); ++r) {
    double dot = 0.0;
    for (size_t i = 0; i < plain->dim(); ++i)
      dot += static_cast<double>(a[r * plain->dim() + i]) * b[r * plain->dim() + i];
    EXPECT_GT(dot, 0.999);
    EXPECT_LT(dot, 0.99999999) << "something was quantized";
    const std::vector<float> alone = Embeddings(*quantized, {texts[r]});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), b.begin() + static_cast<std::ptrdiff_t>(r * plain->dim())));
  }
}

TEST(EncoderDetailsTest, DecodersPoolTheLastTokenBehindTheFinalNorm) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const auto encoder = Make(model, {.threads = 2, .normalize = false});
  ASSERT_NE(encoder, nullptr);
  EXPECT_EQ(encoder->pooling(), Pooling::kLast);
  const Texts texts = {{5, 9, 3}, {7}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}};
  const std::vector<float> rows = Embeddings(*encoder, texts);
  const ModelParts& parts = model->parts();
  const size_t dim = encoder->dim(), vocab_size = model->config().vocab_size;
  for (size_t i = 0; i < texts.size(); ++i) {  // The output matrix times the vector are the logits of a session.
    SessionOptions options;
    options.cache = SessionOptions::Cache::kF32;
    const auto session = Session::Create(model, options);
    ASSERT_TRUE(session.ok());
    ASSERT_TRUE((*session)->Eval(texts[i]).ok());
    std::vector<float> row(dim);
    double worst = 0.0, largest = 0.0;
    for (size_t id = 0; id < vocab_size; ++id) {
      DequantizeWeightRow(parts.weights.output, id, row.data());
      double logit = 0.0;
      for (size_t c = 0; c < dim; ++c) logit += static_cast<double>(row[c]) * static_cast<double>(rows[i * dim + c]);
      const double found = static_cast<double>((*session)->logits()[id]);
      worst = std::max(worst, std::abs(logit - found));
      largest = std::max(largest, std::abs(found));
    }
    EXPECT_LT(worst, 0.01 * largest);
  }
  const auto mean = Make(model, {.pooling = Pooling::kMean});
  EXPECT_EQ(Embeddings(*mean, {texts[2]}).size(), dim);
}

TEST(EncoderDetailsTest, FoldersSayHowToPool) {
  const Folder folder;
  HashedModel(GoldenOf("bert")).WriteFolder(folder / "model");
  const auto modules = [](const std::string& last) {
    return R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
               {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})" +
           last + "]";
  };
  EXPECT_EQ(Make(Load(folder / "model"))->pooling(), Pooling::kMean);
  EXPECT_TRUE(Make(Load(folder / "model"))->normalizes());
  folder.Write("model/modules.json", modules(""));
  folder.Write("model/1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  folder.Write("model/sentence_bert_config.json", R"({"max_seq_length": 12})");
  const auto encoder = Make(Load(folder / "model"));
  EXPECT_EQ(encoder->pooling(), Pooling::kCls);
  EXPECT_FALSE(encoder->normalizes());
  EXPECT_EQ(encoder->max_tokens(), 12u);
  folder.Write("model/modules.json", modules(R"(, {"path": "2", "type": "sentence_transformers.models.Normalize"})"));
  EXPECT_TRUE(Make(Load(folder / "model"))->normalizes());
  folder.Write("model/1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  const auto refused = Encoder::Create(Load(folder / "model"));
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.status().message().find("pooling_mode_max_tokens"), std::string::npos)
      << refused.status().message();
  EXPECT_NE(Make(Load(folder / "model"), {.pooling = Pooling::kMean, .normalize = true}), nullptr);
  folder.Write("model/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  folder.Write("model/modules.json", modules(R"(, {"path": "2", "type": "sentence_transformers.models.Dense"})"));
  EXPECT_NE(Encoder::Create(Load(folder / "model")).status().message().find("'Dense'"), std::string::npos);
  folder.Write("model/modules.json", "[");
  EXPECT_EQ(Model::Load((folder / "model").string()).status().code(), StatusCode::kBadModel);
  HashedModel(GoldenOf("bert")).WriteGguf(folder / "model.gguf");
  EXPECT_EQ(Make(Load(folder / "model.gguf"))->pooling(), Pooling::kCls) << "pooling_type 2";
}

TEST(EncoderDetailsTest, CheckpointsOfTheFirstReleasesCallGainsGamma) {
  const Folder folder;
  HashedModel golden(GoldenOf("bert"));
  golden.WriteFolder(folder / "new");
  golden.Rename("LayerNorm.weight", "LayerNorm.gamma");
  golden.Rename("LayerNorm.bias", "LayerNorm.beta");
  golden.WriteFolder(folder / "old");
  const auto texts = GoldenOf("bert")["texts"].get<Texts>();
  EXPECT_EQ(Embeddings(*Make(Load(folder / "old")), texts), Embeddings(*Make(Load(folder / "new")), texts));
}

TEST(EncoderDetailsTest, RefusesWhatItCannotEmbed) {
  const Folder folder;
  nlohmann::json golden = GoldenOf("bert");
  HashedModel(golden).WriteFolder(folder / "model");
  const auto model = Load(folder / "model");
  const auto encoder = Make(model);
  std::vector<float> out(2 * encoder->dim());
  const Status empty = encoder->EmbedTokens(Texts{{1}, {}}, out.data());
  EXPECT_EQ(empty.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(empty.message().find("text 2 is empty"), std::string::npos) << empty.message();
  const Status longer = encoder->EmbedTokens(Texts{std::vector<TokenId>(65, 1)}, out.data());
  EXPECT_EQ(longer.code(), StatusCode::kContextFull);
  EXPECT_NE(longer.message().find("65 tokens, at most 64"), std::string::npos) << longer.message();
  EXPECT_EQ(encoder->EmbedTokens(Texts{{96}}, out.data()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Encoder::Create(model, {.max_tokens = 65}).status().code(), StatusCode::kInvalidArgument);
  folder.Write("model/tokenizer.json",
               R"({"model": {"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0, "c": 1, "s": 2}},
                   "post_processor": {"type": "BertProcessing", "cls": ["c", 1], "sep": ["s", 2]}})");
  const auto marked = Load(folder / "model");
  EXPECT_TRUE(Encoder::Create(marked, {.max_tokens = 3}).ok());
  const Status no_room = Encoder::Create(marked, {.max_tokens = 2, .truncate = true}).status();
  EXPECT_EQ(no_room.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(no_room.message().find("at least 3"), std::string::npos) << no_room.message();
  EXPECT_EQ(Encoder::Create(nullptr).status().code(), StatusCode::kInvalidArgument);
  std::atomic<bool> cancel{true};
  encoder->set_cancel_flag(&cancel);
  EXPECT_EQ(encoder->EmbedTokens(Texts{{1}}, out.data()).code(), StatusCode::kCancelled);

  const Status session = Session::Create(model).status();
  EXPECT_EQ(session.code(), StatusCode::kUnsupported);
  EXPECT_NE(session.message().find("encoder"), std::string::npos) << session.message();
  golden["config"]["position_embedding_type"] = "relative_key";
  HashedModel(golden).WriteFolder(folder / "relative");
  EXPECT_EQ(Model::Load((folder / "relative").string()).status().code(), StatusCode::kUnsupported);
}

// From shapes alone: no weight of that size is in the tree.
TEST(EncoderDetailsTest, BertBaseHas25LayerNormsWith38400Parameters) {
  constexpr uint64_t kDim = 768, kFfn = 3072, kLayers = 12, kVocab = 30522, kPositions = 512, kKinds = 2;
  const Folder folder;
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
TEST(EncoderDetailsTest, EventsNameEveryLayerNorm) {
  class Sites : public OpObserver {
   public:
    void Record(const OpEvent& event) override {
      if (event.kind == OpKind::kNorm) names.insert(std::string(OpSiteName(event.site)) + std::to_string(event.layer));
    }
    std::set<std::string> names;
  } sites;
  const Folder folder;
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
