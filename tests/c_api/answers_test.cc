// What an answer is, whatever the options: contexts that are full, filters, penalties, threads, files in odd places.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/c_api/c_helpers.h"
#include "tests/support/small_llama.h"
#include "tests/support/temporary_folder.h"

namespace prenorm::c_test {
namespace {

namespace fs = std::filesystem;

struct Answer {
  prenorm_status status;
  int32_t finish_reason = -1;
  std::string text = {};
  std::vector<int32_t> tokens = {};
};

class AnswersTest : public CTest {
 protected:
  void SetUp() override {
    CTest::SetUp();
    prompt_ = Tokenize("Once there was");
  }

  Session WithContext(uint64_t context) {
    prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
    options.threads = 2;
    options.context = context;
    prenorm_session* session = nullptr;
    EXPECT_EQ(prenorm_session_new(model_.get(), &options, &session, error()), PRENORM_OK) << message();
    return Session(session);
  }

  Answer Generate(prenorm_session* session, const std::vector<int32_t>& prompt, prenorm_generate_options options) {
    prenorm_result* result = nullptr;
    Answer answer{prenorm_generate(session, prompt.data(), prompt.size(), &options, &result, error())};
    const ResultPtr owner(result);
    if (answer.status != PRENORM_OK) return answer;
    prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
    EXPECT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK);
    answer.finish_reason = info.finish_reason;
    answer.text.assign(info.text, info.n_bytes);
    answer.tokens.assign(info.tokens, info.tokens + info.n_tokens);
    return answer;
  }

  // `n` tokens from a new session.
  Answer Fresh(int64_t n, prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT, int32_t threads = 2) {
    options.max_new_tokens = n;
    return Generate(MakeSession(threads).get(), prompt_, options);
  }

  std::vector<int32_t> prompt_;
};

TEST_F(AnswersTest, APromptThatDoesNotFitIsRefusedWithBothCountsAndTheSessionGoesOn) {  // R1
  const std::vector<int32_t> many(40, prompt_.back());
  const Session session = WithContext(24);
  const auto expect_both = [&](prenorm_status status) {
    EXPECT_EQ(status, PRENORM_E_CONTEXT_FULL);
    EXPECT_NE(message().find("40"), std::string::npos) << message();
    EXPECT_NE(message().find("24"), std::string::npos) << message();
  };
  expect_both(prenorm_session_eval(session.get(), many.data(), many.size(), error()));
  expect_both(Generate(session.get(), many, PRENORM_GENERATE_OPTIONS_INIT).status);
  std::string text;
  for (int i = 0; i < 40; ++i) text += " the fox";
  const prenorm_chat_message question = PRENORM_CHAT_MESSAGE_INIT("user", text.c_str());
  EXPECT_EQ(prenorm_chat(session.get(), &question, 1, nullptr, nullptr, nullptr, error()), PRENORM_E_CONTEXT_FULL);
  EXPECT_NE(message().find("24"), std::string::npos) << message();
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 3;
  EXPECT_EQ(Generate(session.get(), prompt_, options).tokens, Fresh(3).tokens);
}

TEST_F(AnswersTest, NewTokensAreLimited) {  // R2
  const Answer none = Fresh(0);
  EXPECT_EQ(none.status, PRENORM_OK);
  EXPECT_EQ(none.text, "");
  EXPECT_TRUE(none.tokens.empty());
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.ignore_end_tokens = 1;
  EXPECT_EQ(Fresh(5, options).tokens.size(), 5u);
}

TEST_F(AnswersTest, WithoutALimitAFullContextEndsTheAnswer) {  // R3
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = -1;
  options.ignore_end_tokens = 1;
  const Answer answer = Generate(WithContext(24).get(), prompt_, options);
  EXPECT_EQ(answer.finish_reason, PRENORM_FINISH_LENGTH);
  EXPECT_EQ(prompt_.size() + answer.tokens.size(), 24u);
}

TEST_F(AnswersTest, GreedyIsGreedyWhateverElseIsSet) {  // R6
  ASSERT_EQ(prenorm_session_eval(session_.get(), prompt_.data(), prompt_.size(), error()), PRENORM_OK);
  const std::vector<float> logits = Logits(session_.get());
  const auto best = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const Answer plain = Fresh(12);
  ASSERT_FALSE(plain.tokens.empty());
  EXPECT_EQ(plain.tokens[0], best);
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.top_k = 5;
  options.top_p = 0.3f;
  options.min_p = 0.1f;
  options.typical_p = 0.5f;
  options.seed = 99;
  EXPECT_EQ(Fresh(12, options).tokens, plain.tokens);

  // Of logits that are all alike the first.
  const std::vector<uint8_t> bytes = SmallLlama().Build();
  prenorm_model* ties = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &ties, error()), PRENORM_OK) << message();
  model_.reset(ties);
  prompt_ = {2};
  options.ignore_end_tokens = 1;
  EXPECT_EQ(Fresh(3, options).tokens, std::vector<int32_t>(3, 0));
}

TEST_F(AnswersTest, TopKOffOrAboveTheVocabularyKeepsEverything) {  // R7
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.temperature = 1.5f;
  options.seed = 7;
  options.ignore_end_tokens = 1;
  const std::vector<int32_t> off = Fresh(20, options).tokens;
  EXPECT_EQ(off.size(), 20u);
  for (const int64_t top_k : {int64_t{-1}, int64_t{1'000'000'000}}) {
    options.top_k = top_k;
    EXPECT_EQ(Fresh(20, options).tokens, off) << top_k;
  }
  options.top_k = 1;
  EXPECT_NE(Fresh(20, options).tokens, off);
}

TEST_F(AnswersTest, ThePenaltyLowersWhatWasSeen) {  // R8
  // Behind token 0 all logits are one positive number, behind token 2 one negative number: the first wins.
  const std::vector<uint8_t> bytes = SubnormalLlama(DType::kF16).Build();
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error()), PRENORM_OK) << message();
  model_.reset(model);
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  for (const std::vector<int32_t>& seen : {std::vector<int32_t>{0}, {0, 2}}) {
    prompt_ = seen;
    options.repetition_penalty = 1.0f;
    EXPECT_EQ(Fresh(1, options).tokens, std::vector<int32_t>{0});
    options.repetition_penalty = 1.5f;
    EXPECT_EQ(Fresh(1, options).tokens, std::vector<int32_t>{1}) << "the first that was not seen";
  }
}

TEST_F(AnswersTest, OneSeedGivesOneText) {  // R9
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.temperature = 1.2f;
  options.seed = 1234567890123456789u;
  EXPECT_EQ(Fresh(30, options).text, Fresh(30, options).text);
}

TEST_F(AnswersTest, GreedyTokensDoNotDependOnThreads) {  // R10, R13
  const std::vector<int32_t> one = Fresh(24, PRENORM_GENERATE_OPTIONS_INIT, 1).tokens;
  for (const int32_t threads : {2, 3, 8}) {
    EXPECT_EQ(Fresh(24, PRENORM_GENERATE_OPTIONS_INIT, threads).tokens, one) << threads;
  }
}

TEST_F(AnswersTest, ThreadsFollowTheAffinityMask) {  // R12
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Session session = MakeSession(0);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  prenorm_session_info info = PRENORM_SESSION_INFO_INIT;
  ASSERT_EQ(prenorm_session_get_info(session.get(), &info, error()), PRENORM_OK) << message();
  EXPECT_EQ(info.threads, 1);
}

TEST_F(AnswersTest, PathsMayHoldSpacesAndAnyUtf8) {  // R14
  const TemporaryFolder folder;
  const std::string nested = folder.path("Модели ü"), file = nested + "/мод ель.gguf", link = folder.path("link");
  fs::create_directory(nested);
  fs::copy_file(TinyModelPath(), file);
  fs::create_symlink(file, link);
  const std::vector<int32_t> expected = Fresh(8).tokens;
  for (const std::string& path : {file, link, fs::relative(file).string()}) {
    prenorm_model* model = nullptr;
    ASSERT_EQ(prenorm_model_load(path.c_str(), nullptr, &model, error()), PRENORM_OK) << message();
    model_.reset(model);
    EXPECT_EQ(Fresh(8).tokens, expected) << path;
  }
}

TEST_F(AnswersTest, AFileThatWasReadMayShrink) {  // R15
  const TemporaryFolder folder;
  const std::string path = folder.path("model.gguf");
  fs::copy_file(TinyModelPath(), path);
  prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
  options.no_mmap = 1;
  const std::vector<int32_t> expected = Fresh(8).tokens;
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load(path.c_str(), &options, &model, error()), PRENORM_OK) << message();
  model_.reset(model);
  fs::resize_file(path, 0);
  EXPECT_EQ(Fresh(8).tokens, expected);
}

TEST_F(AnswersTest, AStopTextAcrossTokensIsNotPartOfTheAnswer) {  // R19
  const std::string whole = Fresh(20).text;
  ASSERT_GT(whole.size(), 16u);
  const std::string stop = whole.substr(5, 9), other = whole.substr(5, 8) + "?";
  const char* stops[] = {stop.c_str()};
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.stop = stops;
  options.n_stop = 1;
  EXPECT_EQ(Fresh(20, options).text, whole.substr(0, whole.find(stop)));
  stops[0] = other.c_str();
  EXPECT_EQ(Fresh(20, options).text, whole) << "what only begins as one is printed";
}

TEST_F(AnswersTest, AnEmptyPromptIsRefusedAndTheBeginningTokenIsThereToStartFrom) {  // R20
  EXPECT_EQ(Generate(session_.get(), {}, PRENORM_GENERATE_OPTIONS_INIT).status, PRENORM_E_INVALID_ARGUMENT);
  EXPECT_NE(message(), "");
  prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
  ASSERT_EQ(prenorm_model_get_info(model_.get(), &info, error()), PRENORM_OK) << message();
  ASSERT_GE(info.bos, 0);
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 1;
  EXPECT_EQ(Generate(session_.get(), {info.bos}, options).status, PRENORM_OK) << message();
}

}  // namespace
}  // namespace prenorm::c_test
