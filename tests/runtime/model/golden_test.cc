// The tiny model against golden values of transformers and tokenizers (tests/golden/make_tiny.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prenorm/generate.h"
#include "prenorm/session.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

const std::string kGolden = PRENORM_SOURCE_DIR "/tests/golden/";

nlohmann::json ReadGolden() {
  std::ifstream file(kGolden + "tiny.json");
  return nlohmann::json::parse(file);
}

// The f32 values of a .npy file, whose header is a multiple of 64 bytes long.
std::vector<float> ReadNpy(const std::string& path, size_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> values(count);
  if (bytes.size() < count * sizeof(float)) {
    ADD_FAILURE() << path << " is shorter than " << count << " values";
    return values;
  }
  std::memcpy(values.data(), bytes.data() + bytes.size() - count * sizeof(float), count * sizeof(float));
  return values;
}

class GoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
    golden_ = ReadGolden();
  }
  std::unique_ptr<Session> NewSession() {
    Result<std::unique_ptr<Session>> session = Session::Create(model_);
    EXPECT_TRUE(session.ok());
    return std::move(*session);
  }
  std::shared_ptr<const Model> model_;
  nlohmann::json golden_;
};

TEST_F(GoldenTest, LogitsAreWithin1e4OfTransformersAtEveryPosition) {
  const auto ids = golden_["logits"]["ids"].get<std::vector<TokenId>>();
  const size_t vocab_size = model_->config().vocab_size;
  const std::vector<float> expected =
      ReadNpy(kGolden + golden_["logits"]["file"].get<std::string>(), ids.size() * vocab_size);
  std::vector<float> prefill(expected.size());
  ASSERT_TRUE(NewSession()->Eval(ids, prefill.data()).ok());
  std::vector<float> decode;
  const auto session = NewSession();
  for (const TokenId id : ids) {
    ASSERT_TRUE(session->Eval({&id, 1}).ok());
    decode.insert(decode.end(), session->logits().begin(), session->logits().end());
  }
  for (const std::vector<float>* logits : {&prefill, &decode}) {
    float most = 0.0f;
    for (size_t i = 0; i < expected.size(); ++i) most = std::max(most, std::abs((*logits)[i] - expected[i]));
    EXPECT_LT(most, 1e-4f);
  }
}

TEST_F(GoldenTest, TextBecomesTheIdsOfTokenizersAndComesBack) {
  for (const auto& entry : golden_["tokenize"]) {
    const auto text = entry["text"].get<std::string>();
    const Result<std::vector<TokenId>> plain = model_->tokenizer().Encode(text);
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(*plain, entry["ids"].get<std::vector<TokenId>>()) << text;
    EXPECT_EQ(model_->tokenizer().Decode(*plain), text);
    EncodeOptions special;
    special.parse_special = true;
    EXPECT_EQ(*model_->tokenizer().Encode(text, special), entry["ids_with_special"].get<std::vector<TokenId>>())
        << text;
  }
}

TEST_F(GoldenTest, GreedyTextEqualsTransformers) {
  for (const auto& entry : golden_["greedy"]) {
    const auto expected = entry["ids"].get<std::vector<TokenId>>();
    GenerateOptions options;
    options.sampler.temperature = 0.0f;
    options.max_new_tokens = 64;
    const auto session = NewSession();
    const Result<GenerateResult> result = Generate(*session, entry["prompt_ids"].get<std::vector<TokenId>>(), options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    std::vector<TokenId> ids = result->ids;
    if (result->finish_reason == FinishReason::kStop) ids.pop_back();  // The end token.
    EXPECT_EQ(ids, expected) << entry["prompt"];
    EXPECT_EQ(result->text, entry["text"].get<std::string>());
    EXPECT_EQ(FinishReasonName(result->finish_reason), entry["finish_reason"].get<std::string>());
  }
}

TEST_F(GoldenTest, HeldOutStoriesAreAsLikelyAsForTransformers) {
  for (const auto& entry : golden_["held_out"]) {
    const auto ids = entry["ids"].get<std::vector<TokenId>>();
    const size_t vocab_size = model_->config().vocab_size;
    std::vector<float> logits(ids.size() * vocab_size);
    ASSERT_TRUE(NewSession()->Eval(ids, logits.data()).ok());
    double sum = 0.0;
    for (size_t t = 0; t + 1 < ids.size(); ++t) {
      const float* row = logits.data() + t * vocab_size;
      double total = 0.0;
      for (size_t i = 0; i < vocab_size; ++i) total += std::exp(static_cast<double>(row[i]));
      sum += std::log(total) - static_cast<double>(row[ids[t + 1]]);
    }
    EXPECT_NEAR(sum, entry["nll"].get<double>(), 1e-3 * static_cast<double>(ids.size()));
  }
}

}  // namespace
}  // namespace prenorm
