// The sampler as its callers see it: greedy choice, penalties, ranges of options, reproducible draws.
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "prenorm/generate.h"
#include "runtime/sampler/pcg32.h"

namespace prenorm {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Sampler Make(const SamplerOptions& options) {
  Result<Sampler> sampler = Sampler::Create(options);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(sampler).value();
}

TokenId SampleOnce(const SamplerOptions& options, std::vector<float> logits, const std::vector<TokenId>& seen = {}) {
  Sampler sampler = Make(options);
  for (TokenId id : seen) sampler.Accept(id);
  return sampler.Sample(logits);
}

TEST(Pcg32Test, GivesThePublishedSequence) {
  Pcg32 generator(42u, 54u);  // The demo of the reference implementation.
  for (uint32_t expected : {0xa15c02b7u, 0x7b47f409u, 0xba1d3330u, 0x83d2f293u, 0xbfa4784bu, 0xcbed606eu}) {
    EXPECT_EQ(generator.Next(), expected);
  }
}

TEST(SamplerTest, TemperatureZeroIsGreedyWhateverElseIsSet) {  // R6
  for (int64_t top_k : {-1, 0, 1, 2, 100}) {
    for (float top_p : {0.01f, 0.5f, 1.0f}) {
      for (uint64_t seed : {0u, 1u, 99u}) {
        EXPECT_EQ(SampleOnce({.temperature = 0, .top_k = top_k, .top_p = top_p, .seed = seed}, {1, 3, 2}), 1);
      }
    }
  }
}

TEST(SamplerTest, GreedyTiesGoToTheLowerIndex) {  // R6
  EXPECT_EQ(SampleOnce({.temperature = 0}, {0, 5, 5, 5}), 1);
  EXPECT_EQ(SampleOnce({.temperature = 0}, std::vector<float>(1000, -3.0f)), 0);
}

TEST(SamplerTest, NanNeverWins) {
  EXPECT_EQ(SampleOnce({.temperature = 0}, {kNan, -5, kNan, -4}), 3);
  EXPECT_EQ(SampleOnce({.temperature = 0}, {kNan, -kInf, -kInf}), 1) << "not even -infinity loses against NaN";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(SampleOnce({.temperature = 5, .seed = seed}, {kNan, 0, kNan, -kInf}), 1);
  }
}

TEST(SamplerTest, InfiniteLogitWinsAndTinyTemperatureIsGreedy) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(SampleOnce({.seed = seed}, {1, kInf, 3}), 1);
    EXPECT_EQ(SampleOnce({.temperature = 1e-30f, .seed = seed}, {1, 3, 2.999f}), 1);
  }
}

TEST(SamplerTest, TopKOffOrAboveTheVocabularyKeepsEverything) {  // R7
  for (int64_t top_k : {int64_t{-1}, int64_t{0}, int64_t{3}, int64_t{4}, std::numeric_limits<int64_t>::max()}) {
    std::array<int, 3> hits{};
    Sampler sampler = Make({.top_k = top_k, .seed = 7});
    for (int i = 0; i < 300; ++i) {
      std::vector<float> logits = {0, 0, 0};
      ++hits[static_cast<size_t>(sampler.Sample(logits))];
    }
    for (int count : hits) EXPECT_GT(count, 50) << "top_k " << top_k;
  }
}

TEST(SamplerTest, RepetitionPenaltyAlwaysLowersASeenToken) {  // R8
  EXPECT_EQ(SampleOnce({.repetition_penalty = 1.5f, .temperature = 0}, {-1.0f, -1.2f}, {0}), 1);
  EXPECT_EQ(SampleOnce({.repetition_penalty = 1.5f, .temperature = 0}, {1.2f, 1.0f}, {0}), 1);
  EXPECT_EQ(SampleOnce({.repetition_penalty = 1.0f, .temperature = 0}, {-1.0f, -1.2f}, {0}), 0);
}

TEST(SamplerTest, RepetitionPenaltyCountsATokenOnce) {
  EXPECT_EQ(SampleOnce({.repetition_penalty = 1.5f, .temperature = 0}, {4.0f, 2.5f}, {0, 0, 0, 0}), 0);
}

TEST(SamplerTest, PresenceIsSubtractedOnceAndFrequencyEachTime) {
  EXPECT_EQ(SampleOnce({.presence_penalty = 1.0f, .temperature = 0}, {3.0f, 1.5f}, {0, 0, 0}), 0);
  EXPECT_EQ(SampleOnce({.frequency_penalty = 1.0f, .temperature = 0}, {3.0f, 1.5f}, {0, 0, 0}), 1);
}

TEST(SamplerTest, NoNgramOccursTwice) {
  // 5 6 was followed by 7 before.
  std::vector<float> logits(10, 0.0f);
  logits[7] = 9.0f;
  logits[2] = 8.0f;
  EXPECT_EQ(SampleOnce({.no_repeat_ngram_size = 3, .temperature = 0}, logits, {5, 6, 7, 1, 5, 6}), 2);
  EXPECT_EQ(SampleOnce({.no_repeat_ngram_size = 4, .temperature = 0}, logits, {5, 6, 7, 1, 5, 6}), 7);
  EXPECT_EQ(SampleOnce({.no_repeat_ngram_size = 1, .temperature = 0}, logits, {7}), 2);
  EXPECT_EQ(SampleOnce({.no_repeat_ngram_size = 2, .temperature = 0}, logits, {}), 7);
}

TEST(SamplerTest, BiasMayBanAndForce) {
  EXPECT_EQ(SampleOnce({.logit_bias = {{1, -kInf}}, .temperature = 0}, {1, 3, 2}), 2);
  EXPECT_EQ(SampleOnce({.logit_bias = {{0, 100.0f}, {99, 5.0f}}, .temperature = 0}, {1, 3, 2}), 0);
}

TEST(SamplerTest, SeenIdsOutsideTheVocabularyAreHarmless) {
  EXPECT_EQ(SampleOnce({.repetition_penalty = 2.0f, .no_repeat_ngram_size = 1, .temperature = 0}, {1, 3, 2},
                       {-1, 3, std::numeric_limits<TokenId>::max()}),
            1);
}

TEST(SamplerTest, SameSeedSameTokens) {
  const auto draw = [](uint64_t seed) {
    Sampler sampler = Make({.temperature = 1.3f, .top_p = 0.95f, .seed = seed});
    std::vector<TokenId> ids;
    for (int step = 0; step < 50; ++step) {
      std::vector<float> logits(500);
      for (size_t i = 0; i < logits.size(); ++i)
        logits[i] = static_cast<float>((i * 37 + static_cast<size_t>(step)) % 101) / 20;
      ids.push_back(sampler.Sample(logits));
    }
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(SamplerTest, DrawsFollowTheProbabilities) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  Sampler sampler = Make({.seed = 3});
  std::array<double, 4> hits{};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> work = logits;
    ++hits[static_cast<size_t>(sampler.Sample(work))];
  }
  // Six standard deviations of a binomial share are at most 6 * sqrt(0.25 / 20000) = 0.022.
  EXPECT_NEAR(hits[0] / kDraws, 0.5, 0.022);
  EXPECT_NEAR(hits[1] / kDraws, 0.3, 0.022);
  EXPECT_NEAR(hits[2] / kDraws, 0.15, 0.022);
  EXPECT_NEAR(hits[3] / kDraws, 0.05, 0.022);
}

TEST(SamplerTest, RefusesOptionsOutOfRangeByName) {
  const std::map<std::string, SamplerOptions> bad = {
      {"temperature", {.temperature = -0.1f}},
      {"repetition_penalty", {.repetition_penalty = 0}},
      {"top_p", {.top_p = 0}},
      {"min_p", {.min_p = 1.1f}},
      {"typical_p", {.typical_p = kNan}},
      {"presence_penalty", {.presence_penalty = kInf}},
      {"frequency_penalty", {.frequency_penalty = kNan}},
      {"logit_bias", {.logit_bias = {{-1, 0.0f}}}},
  };
  for (const auto& [name, options] : bad) {
    const Result<Sampler> sampler = Sampler::Create(options);
    ASSERT_FALSE(sampler.ok()) << name;
    EXPECT_EQ(sampler.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(sampler.status().message().find(name), std::string::npos) << sampler.status().message();
  }
}

}  // namespace
}  // namespace prenorm
