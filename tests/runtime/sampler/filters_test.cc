// The filters against Hugging Face's logits processors and against a sort of the whole vocabulary in double.
#include "runtime/sampler/filters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/sampler/exp_weight.h"
#include "runtime/sampler/penalties.h"

namespace prenorm {
namespace {

// The plain fields of SamplerOptions.
struct GoldenOptions {
  float repetition_penalty = 1.0f;
  size_t no_repeat_ngram_size = 0;
  float temperature = 1.0f;
  int64_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
  float typical_p = 1.0f;
};

SamplerOptions ToSamplerOptions(const GoldenOptions& g) {
  SamplerOptions o;
  o.repetition_penalty = g.repetition_penalty;
  o.no_repeat_ngram_size = g.no_repeat_ngram_size;
  o.temperature = g.temperature;
  o.top_k = g.top_k;
  o.top_p = g.top_p;
  o.min_p = g.min_p;
  o.typical_p = g.typical_p;
  return o;
}

struct Golden {
  size_t vocab_size;
  size_t seed;
  std::vector<TokenId> seen;
  GoldenOptions options;
  std::vector<TokenId> kept;
  double first_probability, last_probability;
};

const std::vector<Golden>& Goldens() {
  static const std::vector<Golden> goldens = {
#include "tests/golden/sampler_golden.inc"
  };
  return goldens;
}

std::vector<TokenId> Ids(std::span<const Candidate> candidates) {
  std::vector<TokenId> ids;
  for (const Candidate& c : candidates) ids.push_back(c.id);
  return ids;
}

TEST(FiltersTest, KeepWhatHuggingFaceKeeps) {
  for (const Golden& golden : Goldens()) {
    std::vector<float> logits(golden.vocab_size);
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = (static_cast<float>((i * 7919 + golden.seed * 104729) % 257) - 128.0f) / 32.0f;
    }
    const SamplerOptions options = ToSamplerOptions(golden.options);
    TokenHistory history(options);
    for (TokenId id : golden.seen) history.Accept(id);
    history.Apply(options, logits);
    FilterScratch scratch;
    const auto kept = FilterLogits(options, logits, scratch);
    EXPECT_EQ(Ids(kept), golden.kept) << "seed " << golden.seed;
    double total = 0;
    for (const Candidate& c : kept) total += c.weight;
    EXPECT_NEAR(kept.front().weight / total, golden.first_probability, 2e-6 * golden.first_probability);
    EXPECT_NEAR(kept.back().weight / total, golden.last_probability, 2e-6 * golden.last_probability);
  }
}

// Every filter by one full sort in double: slow and plain.
std::vector<TokenId> Reference(const SamplerOptions& o, const std::vector<float>& logits) {
  struct Item {
    TokenId id;
    double score;
  };
  std::vector<Item> items;
  for (size_t i = 0; i < logits.size(); ++i) {
    items.push_back({static_cast<TokenId>(i), static_cast<double>(logits[i]) / static_cast<double>(o.temperature)});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.score > b.score; });
  if (o.top_k > 0 && static_cast<size_t>(o.top_k) < items.size()) {
    const double limit = items[static_cast<size_t>(o.top_k) - 1].score;
    std::erase_if(items, [&](const Item& item) { return item.score < limit; });
  }
  const auto probabilities = [&] {
    std::vector<double> p;
    double total = 0;
    for (const Item& item : items) total += std::exp(item.score - items[0].score);
    for (const Item& item : items) p.push_back(std::exp(item.score - items[0].score) / total);
    return p;
  };
  if (o.top_p < 1) {
    const std::vector<double> p = probabilities();
    size_t kept = 0;
    for (double before = 0; kept < p.size() && (kept == 0 || before < static_cast<double>(o.top_p)); ++kept)
      before += p[kept];
    items.resize(kept);
  }
  if (o.min_p > 0) {
    const double limit = items[0].score + std::log(static_cast<double>(o.min_p));
    std::erase_if(items, [&](const Item& item) { return item.score < limit; });
  }
  std::vector<TokenId> ids;
  for (const Item& item : items) ids.push_back(item.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(FiltersTest, AgreeWithAFullSortOnLargeVocabularies) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (size_t vocab_size : {1u, 2u, 127u, 128u, 129u, 5000u, 50257u}) {
    std::vector<float> logits(vocab_size);
    for (float& logit : logits) logit = normal(random);
    for (const SamplerOptions& options :
         {SamplerOptions{.temperature = 0.7f, .top_p = 0.9f}, SamplerOptions{.temperature = 3.0f, .top_p = 0.999f},
          SamplerOptions{.top_k = 40}, SamplerOptions{.top_k = 3000, .top_p = 0.99f}, SamplerOptions{.min_p = 0.01f},
          SamplerOptions{.top_p = 0.95f, .min_p = 0.05f}}) {
      std::vector<float> work = logits;
      FilterScratch scratch;
      const std::vector<TokenId> kept = Ids(FilterLogits(options, work, scratch));
      const std::vector<TokenId> expected = Reference(options, logits);
      // A probability that meets the limit to the last bit may fall on either side.
      std::vector<TokenId> difference;
      std::set_symmetric_difference(kept.begin(), kept.end(), expected.begin(), expected.end(),
                                    std::back_inserter(difference));
      EXPECT_LE(difference.size(), expected.size() / 1000)
          << vocab_size << " top_p " << options.top_p << " kept " << kept.size();
    }
  }
}

TEST(FiltersTest, BannedTokensNeverRemain) {
  std::vector<float> logits = {-INFINITY, 1.0f, NAN, 0.5f, -INFINITY};
  for (const SamplerOptions& options :
       {SamplerOptions{}, SamplerOptions{.top_k = 4}, SamplerOptions{.top_p = 0.999f}}) {
    std::vector<float> work = logits;
    FilterScratch scratch;
    EXPECT_EQ(Ids(FilterLogits(options, work, scratch)), (std::vector<TokenId>{1, 3}));
  }
}

TEST(FiltersTest, ScratchMayServeVocabulariesOfDifferentSizes) {
  FilterScratch scratch;
  std::vector<float> large(1000, 0.0f), small(3, 0.0f);
  EXPECT_EQ(FilterLogits({}, large, scratch).size(), 1000u);
  EXPECT_EQ(FilterLogits({}, small, scratch).size(), 3u);
}

TEST(ExpWeightTest, StaysWithinTwoUlp) {
  double worst = 0;
  for (float x = 0.0f; x > -87.0f; x -= 0.00137f) {
    const double exact = std::exp(static_cast<double>(x));
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(ExpWeight(x) - exact) / ulp);
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_EQ(ExpWeight(0.0f), 1.0f);
  EXPECT_EQ(ExpWeight(-100.0f), 0.0f);
  EXPECT_EQ(ExpWeight(-INFINITY), 0.0f);
  EXPECT_EQ(ExpWeight(NAN), 0.0f);
}

}  // namespace
}  // namespace prenorm
