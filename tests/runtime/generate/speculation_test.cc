// Speculation changes nothing but the time: ids, text, callbacks and the session are those of plain decoding.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "prenorm/generate.h"
#include "prenorm/quantize.h"
#include "runtime/generate/guess_policy.h"
#include "runtime/generate/guesses.h"
#include "tests/support/hashed_model.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

using Kind = Speculation::Kind;

std::string TemporaryPath(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("prenorm_speculation_" + name + std::to_string(getpid()) + ".gguf");
}

std::shared_ptr<const Model> QuantizedTinyModel(const std::string& recipe) {
  const std::string path = TemporaryPath(recipe);
  QuantizeOptions options;
  options.recipe = recipe;
  EXPECT_TRUE(QuantizeFile(TinyModelPath(), path, options).ok());
  Result<std::shared_ptr<const Model>> model = Model::Load(path);
  std::filesystem::remove(path);  // The mapping keeps it.
  EXPECT_TRUE(model.ok());
  return model.ok() ? *model : nullptr;
}

// What a run leaves behind.
struct Trace {
  GenerateResult result;
  std::vector<std::pair<std::string, TokenId>> pieces;
  std::vector<uint8_t> session;
};

class SpeculationTest : public testing::TestWithParam<std::tuple<std::string, Kind>> {
 protected:
  static void SetUpTestSuite() {
    exact_ = LoadTinyModel();
    quantized_ = QuantizedTinyModel("Q4_0");
    ASSERT_TRUE(exact_ != nullptr && quantized_ != nullptr);
  }
  static void TearDownTestSuite() {
    exact_.reset();
    quantized_.reset();
  }
  // The other one drafts: it is often right, and often wrong.
  std::shared_ptr<const Model> model() const { return std::get<0>(GetParam()) == "F32" ? exact_ : quantized_; }
  std::shared_ptr<const Model> draft_model() const { return std::get<0>(GetParam()) == "F32" ? quantized_ : exact_; }
  Kind kind() const { return std::get<1>(GetParam()); }

  std::vector<TokenId> Encode(std::string_view text) const {
    return *model()->tokenizer().Encode(text, {.add_special = true});
  }

  // `most` pieces are taken.
  Trace Run(const std::string& prompt, GenerateOptions options, bool speculate, size_t context = 200,
            size_t most = 1000) {
    const auto session = MakeSession(model(), {.context = context, .threads = 1});
    const auto draft = MakeSession(draft_model(), {.context = 200, .threads = 1});
    if (speculate) options.speculation = {kind(), kind() == Kind::kDraft ? draft.get() : nullptr, 5, /*always=*/true};
    Trace trace;
    Result<GenerateResult> result = Generate(*session, Encode(prompt), options, [&](std::string_view text, TokenId id) {
      trace.pieces.emplace_back(text, id);
      return trace.pieces.size() < most;
    });
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) return trace;
    trace.result = *result;
    trace.session = *session->Save();
    guessed_ += result->speculation.guessed;
    accepted_ += result->speculation.accepted;
    return trace;
  }

  void ExpectEqual(const std::string& prompt, const GenerateOptions& options, size_t context = 200,
                   size_t most = 1000) {
    const Trace plain = Run(prompt, options, false, context, most);
    const Trace guessing = Run(prompt, options, true, context, most);
    EXPECT_EQ(guessing.result.ids, plain.result.ids) << prompt;
    EXPECT_EQ(guessing.result.text, plain.result.text);
    EXPECT_EQ(guessing.result.finish_reason, plain.result.finish_reason);
    EXPECT_EQ(guessing.pieces, plain.pieces);
    EXPECT_EQ(guessing.session, plain.session) << "the session is not what plain decoding leaves";
  }

  static GenerateOptions Greedy(int64_t max_new_tokens) {
    GenerateOptions options;
    options.max_new_tokens = max_new_tokens;
    options.sampler.temperature = 0;
    return options;
  }

  static constexpr const char* kPrompts[] = {"Once upon a time",
                                             "Mia had a red ball. Tom had a red ball. Mia had a",
                                             "The cat sat. The cat sat. The cat sat.",
                                             "One day, a small fox",
                                             "a b a b a b a b",
                                             "The dog and the cat went to the park. The dog and the"};
  // With few tokens to choose from the text repeats itself, so that lookup has something to find.
  static inline const std::map<TokenId, float> kFewTokens = {{40, 30.0f}, {41, 30.0f}, {42, 30.0f}};
  static inline std::shared_ptr<const Model> exact_, quantized_;
  size_t guessed_ = 0, accepted_ = 0;
};

TEST_P(SpeculationTest, GreedyTextIsTheSame) {
  GenerateOptions options = Greedy(60);
  options.ignore_end_tokens = true;
  for (const char* prompt : kPrompts) ExpectEqual(prompt, options);
  options.sampler.logit_bias = kFewTokens;
  for (const char* prompt : kPrompts) ExpectEqual(prompt, options);
  EXPECT_GT(accepted_, 20u);       // Else nothing was tested: neither right guesses
  EXPECT_GT(guessed_, accepted_);  // nor wrong ones.
}

TEST_P(SpeculationTest, SampledTextIsTheSameForTheSameSeed) {
  std::vector<SamplerOptions> samplers(6);
  samplers[0].temperature = 0.5f;
  samplers[1].top_p = 0.9f;
  samplers[1].repetition_penalty = 1.1f;
  samplers[2].top_k = 5;
  samplers[2].presence_penalty = 0.5f;
  samplers[2].frequency_penalty = 0.2f;
  samplers[3].min_p = 0.1f;
  samplers[3].no_repeat_ngram_size = 3;
  samplers[4].temperature = 0.0f;
  samplers[4].no_repeat_ngram_size = 2;
  samplers[4].logit_bias = {{40, 2.0f}};
  samplers[5].logit_bias = kFewTokens;
  uint64_t seed = 1;
  for (const SamplerOptions& sampler : samplers) {
    for (const char* prompt : kPrompts) {
      GenerateOptions options = Greedy(40);
      options.sampler = sampler;
      options.sampler.seed = seed++;
      ExpectEqual(prompt, options);
    }
  }
  EXPECT_GT(accepted_, 20u);
}

TEST_P(SpeculationTest, StopsEndAtTheSameToken) {
  GenerateOptions options = Greedy(60);
  for (const char* prompt : kPrompts) {
    const std::string whole = Run(prompt, options, false).result.text;
    for (const size_t at : {whole.size() / 4, whole.size() / 2}) {
      if (at + 4 > whole.size()) continue;
      options.stop = {whole.substr(at, 4)};
      ExpectEqual(prompt, options);
    }
    options.stop.clear();
  }
}

TEST_P(SpeculationTest, EveryLengthContextAndInterruptionIsTheSame) {
  const std::string prompt = kPrompts[2];
  const size_t prompt_tokens = Encode(prompt).size();
  for (int64_t length = 0; length < 12; ++length) {
    GenerateOptions options = Greedy(length);
    options.ignore_end_tokens = true;
    ExpectEqual(prompt, options);
    options.max_new_tokens = -1;
    ExpectEqual(prompt, options, prompt_tokens + static_cast<size_t>(length));
    options.max_new_tokens = 30;
    ExpectEqual(prompt, options, 200, static_cast<size_t>(length) + 1);
  }
}

TEST_P(SpeculationTest, WithoutAlwaysTheMeasuredCostsDecideAndTheTextIsTheSame) {
  GenerateOptions options = Greedy(60);
  const auto draft = MakeSession(draft_model(), {.threads = 1});
  options.speculation = {kind(), kind() == Kind::kDraft ? draft.get() : nullptr};
  const auto session = MakeSession(model(), {.threads = 1});
  const Result<GenerateResult> result = Generate(*session, Encode(kPrompts[1]), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ids, Run(kPrompts[1], Greedy(60), false).result.ids);
  EXPECT_GT(session->EvalNs(1), 0u);
}

TEST_P(SpeculationTest, ASharedPrefixIsNotEvaluatedAgain) {
  GenerateOptions options = Greedy(10);
  options.reuse_prefix = true;
  options.sampler.repetition_penalty = 1.2f;  // Counts the whole prompt.
  const auto session = MakeSession(model(), {.threads = 1});
  std::vector<TokenId> prompt = Encode(kPrompts[1]);
  const size_t first_prompt = prompt.size();
  Result<GenerateResult> first = Generate(*session, prompt, options);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->reused_tokens, 0u);
  prompt.insert(prompt.end(), first->ids.begin(), first->ids.end());
  const std::vector<TokenId> more = Encode(kPrompts[3]);
  prompt.insert(prompt.end(), more.begin(), more.end());
  const Result<GenerateResult> second = Generate(*session, prompt, options);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->reused_tokens, first_prompt + first->ids.size() - 1);  // The last one was never evaluated.
  EXPECT_EQ(second->prompt_tokens, prompt.size());
  const auto fresh = MakeSession(model(), {.threads = 1});
  const Result<GenerateResult> recomputed = Generate(*fresh, prompt, options);
  ASSERT_TRUE(recomputed.ok());
  EXPECT_EQ(second->ids, recomputed->ids);
  EXPECT_EQ(second->text, recomputed->text);
  EXPECT_EQ(*session->Save(), *fresh->Save());
}

INSTANTIATE_TEST_SUITE_P(ModelsAndKinds, SpeculationTest,
                         testing::Combine(testing::Values("F32", "Q4_0"), testing::Values(Kind::kLookup, Kind::kDraft)),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) == Kind::kLookup ? "Lookup" : "Draft");
                         });

TEST(SpeculationOptionsTest, RefusesWhatCannotWork) {
  const auto model = LoadTinyModel();
  const auto session = MakeSession(model, {.threads = 1});
  const TokenId token = 3;
  const auto code = [&](const Speculation& speculation) {
    GenerateOptions options;
    options.max_new_tokens = 1;
    options.speculation = speculation;
    return Generate(*session, {&token, 1}, options).status();
  };
  EXPECT_EQ(code({Kind::kLookup, nullptr, 0}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Kind::kLookup, nullptr, Session::kTimedTokens}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Kind::kDraft, nullptr}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Kind::kDraft, session.get()}).code(), StatusCode::kInvalidArgument);

  std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
  const nlohmann::json families = nlohmann::json::parse(file);
  const std::string path = TemporaryPath("other");
  HashedModel(families[0]).WriteGguf(path);
  const Result<std::shared_ptr<const Model>> other = Model::Load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(other.ok()) << other.status().message();
  const auto draft = MakeSession(*other, {.threads = 1});
  const Status status = code({Kind::kDraft, draft.get()});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("found 3"), std::string::npos) << status.message();
}

TEST(LookupGuesserTest, ContinuesTheLastOccurrenceOfTheLongestMatch) {
  LookupGuesser guesser;
  std::vector<TokenId> guesses;
  for (const TokenId token : {1, 2, 3, 4, 9, 2, 3, 5, 7, 2, 3}) guesser.Append(token);
  guesser.Guess(3, guesses);
  EXPECT_EQ(guesses, (std::vector<TokenId>{5, 7, 2}));  // 2 3 last stood before 5.
  for (const TokenId token : {4, 9}) guesser.Append(token);
  guesser.Guess(2, guesses);
  EXPECT_EQ(guesses, (std::vector<TokenId>{2, 3}));  // 2 3 4 9 before the later 2 3.
  guesser.Append(100);
  guesser.Guess(2, guesses);
  EXPECT_TRUE(guesses.empty());
}

TEST(LookupGuesserTest, ACycleGoesOnPastTheEnd) {
  LookupGuesser guesser;
  std::vector<TokenId> guesses;
  for (const TokenId token : {5, 6, 7, 5, 6, 7, 5, 6}) guesser.Append(token);
  guesser.Guess(7, guesses);
  EXPECT_EQ(guesses, (std::vector<TokenId>{7, 5, 6, 7, 5, 6, 7}));
}

TEST(GuessPolicyTest, EstimatesCostsBetweenMeasuredOnes) {
  const StepCost cost = [](size_t n) -> uint64_t { return n == 1 ? 100 : n == 5 ? 180 : 0; };
  EXPECT_DOUBLE_EQ(EstimateStepNs(cost, 1), 100);
  EXPECT_DOUBLE_EQ(EstimateStepNs(cost, 3), 140);
  EXPECT_DOUBLE_EQ(EstimateStepNs(cost, 7), 190);
}

TEST(GuessPolicyTest, GuessesOnlyWhereItPays) {
  GuessPolicy policy;
  for (int i = 0; i < 60; ++i) {
    policy.Count(0, true);
    policy.Count(1, i % 10 == 0);
  }
  const StepCost flat = [](size_t n) -> uint64_t { return 1000 + 50 * (n - 1); };
  const StepCost linear = [](size_t n) -> uint64_t { return 1000 * n; };
  EXPECT_EQ(policy.Choose(0, 8, flat, 0), 8u);
  EXPECT_EQ(policy.Choose(0, 8, linear, 0), 0u);
  EXPECT_LE(policy.Choose(1, 8, flat, 0), 1u);
  EXPECT_EQ(policy.Choose(1, 8, flat, 500), 0u);  // Guesses that are rarely right and cost half a step each.
  EXPECT_EQ(policy.Choose(
                0, 8, [](size_t) -> uint64_t { return 0; }, 0),
            0u);  // Nothing measured yet.
}

}  // namespace
}  // namespace prenorm
