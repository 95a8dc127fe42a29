// What sessions and encoders refuse about their model: weights of another SIMD target, and those that give no numbers.
#include "runtime/model/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/session.h"
#include "prenorm/target.h"
#include "tests/support/session_helpers.h"
#include "tests/support/small_llama.h"

namespace prenorm {
namespace {

constexpr TokenId kZeros = 0, kNoNumbers = 1;

// A model whose token 1 is no number.
std::shared_ptr<const Model> SmallModel() {
  const float no_number = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint8_t> embedding(3 * SmallLlama::kDim * sizeof(float));
  std::memcpy(embedding.data() + kNoNumbers * SmallLlama::kDim * sizeof(float), &no_number, sizeof no_number);
  const Result<std::shared_ptr<const Model>> model = Model::LoadFromMemory(SmallLlama{.embedding = embedding}.Build());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *model : nullptr;
}

void ExpectSays(const Status& status, StatusCode code, const std::string& part) {
  EXPECT_EQ(status.code(), code);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  EXPECT_EQ(std::count(status.message().begin(), status.message().end(), '\n'), 2) << "what, where and what to do";
}

TEST(ModelChecksTest, WeightsOfAnotherTargetAreRefused) {
  const std::vector<std::string> targets = RunnableTargets();
  if (targets.size() < 2) GTEST_SKIP() << "this processor runs one target only";
  const auto model = SmallModel();
  ASSERT_NE(model, nullptr);
  const auto session = MakeSession(model);
  const auto encoder = Encoder::Create(model);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  std::vector<float> vector(SmallLlama::kDim);
  const std::vector<std::vector<TokenId>> texts = {{kZeros}};
  ASSERT_TRUE(ForceTarget(targets[1]).ok());
  const Status step = session->Eval(std::span(&kZeros, 1)), embedding = (*encoder)->EmbedTokens(texts, vector.data());
  ASSERT_TRUE(ForceTarget("").ok());
  const std::string said = "expected " + targets[0] + ", found " + targets[1];
  ExpectSays(step, StatusCode::kInvalidArgument, said);
  ExpectSays(embedding, StatusCode::kInvalidArgument, said);
  EXPECT_EQ(session->position(), 0u);
  EXPECT_TRUE(session->Eval(std::span(&kZeros, 1)).ok());
  EXPECT_TRUE((*encoder)->EmbedTokens(texts, vector.data()).ok());
}

TEST(ModelChecksTest, LogitsThatAreNoNumbersAreRefused) {
  const auto model = SmallModel();
  ASSERT_NE(model, nullptr);
  const auto session = MakeSession(model);
  ASSERT_TRUE(session->Eval(std::span(&kZeros, 1)).ok());
  ExpectSays(session->Eval(std::span(&kNoNumbers, 1)), StatusCode::kBadModel, "NaN or infinities");
  EXPECT_TRUE(session->logits().empty());
  EXPECT_EQ(session->position(), 1u);
  EXPECT_TRUE(session->Eval(std::span(&kZeros, 1)).ok());  // In its place.
}

TEST(ModelChecksTest, VectorsThatAreNoNumbersAreRefused) {
  const auto model = SmallModel();
  ASSERT_NE(model, nullptr);
  const auto encoder = Encoder::Create(model);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  std::vector<float> vectors(2 * SmallLlama::kDim);
  const std::vector<std::vector<TokenId>> good = {{kZeros}}, one_bad = {{kZeros}, {kNoNumbers}};
  EXPECT_TRUE((*encoder)->EmbedTokens(good, vectors.data()).ok());
  ExpectSays((*encoder)->EmbedTokens(one_bad, vectors.data()), StatusCode::kBadModel, "NaN or infinities");
}

}  // namespace
}  // namespace prenorm
