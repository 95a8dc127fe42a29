// Encoders against transformers (tests/golden/make_encoders.py), from a folder and from a GGUF file; one text's vector
// whatever stands beside it; quantized; what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "tests/runtime/model/encoder_support.h"

namespace prenorm {
namespace {

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
  TemporaryFolder folder_;
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
TEST(EncoderLimitsTest, QuantizedStaysNearAndKeepsItsBitsInBatches) {
  const TemporaryFolder folder;
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

TEST(EncoderLimitsTest, RefusesWhatItCannotEmbed) {
  const TemporaryFolder folder;
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

}  // namespace
}  // namespace prenorm
