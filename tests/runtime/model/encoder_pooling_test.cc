// How vectors are pooled from the rows of a text: as the folder or file says, decoders by their last token; and the names
// that old checkpoints give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "prenorm/session.h"
#include "runtime/model/parts.h"
#include "tests/runtime/model/encoder_support.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

TEST(EncoderPoolingTest, DecodersPoolTheLastTokenBehindTheFinalNorm) {
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

TEST(EncoderPoolingTest, FoldersSayHowToPool) {
  const TemporaryFolder folder;
  HashedModel(GoldenOf("bert")).WriteFolder(folder / "model");
  const auto modules = [](const std::string& last) {
    return R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
               {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})" +
           last + "]";
  };
  EXPECT_EQ(Make(Load(folder / "model"))->pooling(), Pooling::kMean);
  EXPECT_TRUE(Make(Load(folder / "model"))->normalizes());
  folder.Write("model/modules.json", modules(""));
  fs::create_directories(folder / "model/1_Pooling");
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
  folder.Write("model/modules.json", modules(""));
  folder.Write("model/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": "yes"})");
  EXPECT_NE(Encoder::Create(Load(folder / "model")).status().message().find("neither true nor false"),
            std::string::npos);
  for (const char* no_list : {"[", "{}"}) {
    folder.Write("model/modules.json", no_list);
    EXPECT_EQ(Model::Load((folder / "model").string()).status().code(), StatusCode::kBadModel) << no_list;
  }
  HashedModel(GoldenOf("bert")).WriteGguf(folder / "model.gguf");
  EXPECT_EQ(Make(Load(folder / "model.gguf"))->pooling(), Pooling::kCls) << "pooling_type 2";
}

TEST(EncoderPoolingTest, CheckpointsOfTheFirstReleasesCallGainsGamma) {
  const TemporaryFolder folder;
  HashedModel golden(GoldenOf("bert"));
  golden.WriteFolder(folder / "new");
  golden.Rename("LayerNorm.weight", "LayerNorm.gamma");
  golden.Rename("LayerNorm.bias", "LayerNorm.beta");
  golden.WriteFolder(folder / "old");
  const auto texts = GoldenOf("bert")["texts"].get<Texts>();
  EXPECT_EQ(Embeddings(*Make(Load(folder / "old")), texts), Embeddings(*Make(Load(folder / "new")), texts));
}

}  // namespace
}  // namespace prenorm
