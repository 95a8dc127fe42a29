// Generate on the tiny model: lengths, stops, interruption, streaming.
#include "prenorm/generate.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "prenorm/model.h"
#include "prenorm/session.h"

namespace prenorm {
namespace {

class GenerateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::shared_ptr<const Model>> model =
        Model::Load(std::string(PRENORM_SOURCE_DIR) + "/models/tiny/prenorm-tiny.gguf");
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::move(model).value();
  }
  static void TearDownTestSuite() { model_.reset(); }

  std::unique_ptr<Session> NewSession(size_t context = 0, int threads = 1) {
    Result<std::unique_ptr<Session>> session = Session::Create(model_, {.context = context, .threads = threads});
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(session).value();
  }
  std::vector<TokenId> Encode(std::string_view text) {
    Result<std::vector<TokenId>> ids = model_->tokenizer().Encode(text, {.add_special = true});
    EXPECT_TRUE(ids.ok());
    return std::move(ids).value();
  }
  static GenerateOptions Greedy(int64_t max_new_tokens) {
    GenerateOptions options;
    options.max_new_tokens = max_new_tokens;
    options.sampler.temperature = 0;
    return options;
  }
  GenerateResult Run(const GenerateOptions& options, const TokenCallback& on_token = {}, size_t context = 0) {
    const auto session = NewSession(context);
    Result<GenerateResult> result = Generate(*session, Encode(kPrompt), options, on_token);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
  }

  static constexpr const char* kPrompt = "Once there was a";
  static std::shared_ptr<const Model> model_;
};
std::shared_ptr<const Model> GenerateTest::model_;

TEST_F(GenerateTest, ZeroNewTokensEvaluatesThePromptOnly) {  // R2
  const auto session = NewSession();
  const std::vector<TokenId> prompt = Encode(kPrompt);
  const Result<GenerateResult> result = Generate(*session, prompt, Greedy(0));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->ids.empty());
  EXPECT_EQ(result->text, "");
  EXPECT_EQ(result->finish_reason, FinishReason::kLength);
  EXPECT_EQ(session->position(), prompt.size());
}

TEST_F(GenerateTest, TextIsTheDecodedIdsAndTheJoinedPieces) {
  std::string joined;
  std::vector<TokenId> ids;
  const GenerateResult result = Run(Greedy(20), [&](std::string_view text, TokenId id) {
    joined += text;
    ids.push_back(id);
    return true;
  });
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
  EXPECT_EQ(result.ids.size(), 20u);
  EXPECT_EQ(result.ids, ids);
  EXPECT_EQ(result.text, joined);
  EXPECT_EQ(result.text, model_->tokenizer().Decode(result.ids));
}

TEST_F(GenerateTest, TheTextEndsBeforeAStopString) {
  const std::string whole = Run(Greedy(30)).text;
  ASSERT_GT(whole.size(), 20u);
  GenerateOptions options = Greedy(30);
  options.stop = {whole.substr(7, 9)};  // Any place: it need not fall on token borders.
  const GenerateResult result = Run(options);
  EXPECT_EQ(result.finish_reason, FinishReason::kStop);
  EXPECT_EQ(result.text, whole.substr(0, whole.find(options.stop[0])));
  EXPECT_LT(result.ids.size(), 30u);
}

TEST_F(GenerateTest, AStopStringThatNeverCompletesIsHandedOutAtTheEnd) {
  const std::string whole = Run(Greedy(10)).text;
  GenerateOptions options = Greedy(10);
  options.stop = {whole.substr(whole.size() - 3) + "\x01"};
  EXPECT_EQ(Run(options).text, whole);
}

TEST_F(GenerateTest, AFullContextEndsWithLength) {  // R3
  GenerateOptions options = Greedy(-1);
  options.ignore_end_tokens = true;
  const size_t prompt_tokens = Encode(kPrompt).size();
  const size_t context = prompt_tokens + 12;
  const GenerateResult result = Run(options, {}, context);
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
  EXPECT_EQ(result.prompt_tokens + result.ids.size(), context);
}

TEST_F(GenerateTest, APromptThatFillsTheContextGivesNothingNew) {
  const GenerateResult result = Run(Greedy(-1), {}, Encode(kPrompt).size());
  EXPECT_TRUE(result.ids.empty());
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
}

TEST_F(GenerateTest, APromptTooLongNamesBothCountsAndTheSessionGoesOn) {
  const auto session = NewSession(8);
  const std::vector<TokenId> prompt(37, 5);
  const Result<GenerateResult> refused = Generate(*session, prompt, Greedy(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kContextFull);
  EXPECT_NE(refused.status().message().find("37"), std::string::npos) << refused.status().message();
  EXPECT_NE(refused.status().message().find("8"), std::string::npos) << refused.status().message();
  EXPECT_TRUE(Generate(*session, std::span(prompt).first(4), Greedy(1)).ok());
}

TEST_F(GenerateTest, AnEmptyPromptIsRefusedOnlyInAnEmptySession) {  // R20
  const auto session = NewSession();
  EXPECT_EQ(Generate(*session, {}, Greedy(1)).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Generate(*session, Encode(kPrompt), Greedy(0)).ok());
  const Result<GenerateResult> result = Generate(*session, {}, Greedy(3));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ids, Run(Greedy(3)).ids);
}

TEST_F(GenerateTest, EveryEndTokenEndsTheAnswerAndIsNotPrinted) {
  const auto ends = model_->tokenizer().end_tokens();
  ASSERT_FALSE(ends.empty());
  for (TokenId end : ends) {
    GenerateOptions options = Greedy(5);
    options.sampler.logit_bias[end] = 1e6f;
    const GenerateResult result = Run(options);
    EXPECT_EQ(result.ids, std::vector<TokenId>{end});
    EXPECT_EQ(result.text, "");
    EXPECT_EQ(result.finish_reason, FinishReason::kStop);
  }
}

TEST_F(GenerateTest, ACancelFlagEndsPrefillAndDecodeAsInterrupted) {
  const auto session = NewSession();
  std::atomic<bool> cancel = true;
  const Result<GenerateResult> at_once = Generate(*session, Encode(kPrompt), Greedy(50), {}, &cancel);
  ASSERT_TRUE(at_once.ok());
  EXPECT_EQ(at_once->finish_reason, FinishReason::kInterrupted);
  EXPECT_EQ(session->position(), 0u);

  cancel = false;
  const auto stop_after_three = [&, count = 0](std::string_view, TokenId) mutable {
    cancel = ++count == 3;
    return true;
  };
  const Result<GenerateResult> later = Generate(*session, Encode(kPrompt), Greedy(50), stop_after_three, &cancel);
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->finish_reason, FinishReason::kInterrupted);
  EXPECT_EQ(later->ids.size(), 3u);
}

TEST_F(GenerateTest, TheCallbackMayStop) {
  const GenerateResult result = Run(Greedy(50), [](std::string_view, TokenId) { return false; });
  EXPECT_EQ(result.ids.size(), 1u);
  EXPECT_EQ(result.finish_reason, FinishReason::kInterrupted);
}

TEST_F(GenerateTest, HistoryCountsForThePenalties) {
  const TokenId first = Run(Greedy(1)).ids[0];
  GenerateOptions options = Greedy(1);
  options.history = {first};
  options.sampler.presence_penalty = 1e6f;
  EXPECT_NE(Run(options).ids[0], first);
}

TEST_F(GenerateTest, RefusesOptionsOutOfRange) {
  const auto session = NewSession();
  EXPECT_EQ(Generate(*session, Encode(kPrompt), Greedy(-2)).status().code(), StatusCode::kInvalidArgument);
  GenerateOptions options = Greedy(1);
  options.stop = {""};
  EXPECT_EQ(Generate(*session, Encode(kPrompt), options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace prenorm
