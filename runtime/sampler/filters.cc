// Selection instead of sorting: only the tokens that can matter are ever put in order.
#include "runtime/sampler/filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "prenorm/ops.h"
#include "runtime/sampler/exp_weight.h"

namespace prenorm {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Sum in double with a fixed order of eight lanes: short chains of additions, and the same bits everywhere.
template <typename Range, typename GetWeight>
double SumWeights(const Range& range, GetWeight weight) {
  std::array<double, 8> lanes{};
  for (size_t i = 0; i < range.size(); ++i) lanes[i % 8] += weight(range[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

double TotalWeight(const std::vector<Candidate>& candidates) {
  return SumWeights(candidates, [](const Candidate& c) { return static_cast<double>(c.weight); });
}

bool Heavier(const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; }

// The k-th largest score, by a heap of the k best so far: most scores lose against its smallest and
// cost one comparison.
float KthLargest(std::span<const float> scores, size_t k) {
  std::vector<float> best(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(k));
  std::make_heap(best.begin(), best.end(), std::greater<>());
  for (size_t i = k; i < scores.size(); ++i) {
    if (scores[i] <= best.front()) continue;
    std::pop_heap(best.begin(), best.end(), std::greater<>());
    best.back() = scores[i];
    std::push_heap(best.begin(), best.end(), std::greater<>());
  }
  return best.front();
}

// Candidates with a score of at least `lowest`; a weight of zero is never drawn and is left out.
void CollectByScore(std::span<const float> scores, float lowest, std::vector<Candidate>& candidates) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < lowest) continue;
    const float weight = ExpWeight(scores[i]);
    if (weight > 0.0f) candidates.push_back({scores[i], weight, static_cast<TokenId>(i)});
  }
}

// Orders candidates by `before` block by block until `stop(candidate)` says that the one just reached is the last to
// keep. Returns how many were put in order.
template <typename Before, typename Stop>
size_t OrderUntil(std::vector<Candidate>& candidates, Before before, Stop stop) {
  size_t block = 128;
  for (size_t begin = 0; begin < candidates.size(); begin += block, block *= 4) {
    block = std::min(block, candidates.size() - begin);
    const auto first = candidates.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(block);
    if (last != candidates.end()) std::nth_element(first, last, candidates.end(), before);
    std::sort(first, last, before);
    for (size_t i = begin; i < begin + block; ++i) {
      if (stop(candidates[i])) return i + 1;
    }
  }
  return candidates.size();
}

// Keeps the heaviest tokens until they hold the share top_p of `total`: a token goes if those before it already do.
void KeepTopP(float top_p, double total, std::vector<Candidate>& candidates) {
  const double wanted = static_cast<double>(top_p) * total;
  double sum = 0.0;
  const size_t kept = OrderUntil(candidates, Heavier, [&](const Candidate& c) { return (sum += c.weight) >= wanted; });
  candidates.resize(kept);
}

void KeepMinP(float min_p, std::vector<Candidate>& candidates) {
  float highest = 0.0f;
  for (const Candidate& c : candidates) highest = std::max(highest, c.weight);
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < min_p * highest; });
}

// Keeps the tokens whose surprise is nearest to the entropy until they hold the share `mass` (Meister et al. 2022).
void KeepTypical(float mass, std::vector<Candidate>& candidates) {
  const double total = TotalWeight(candidates);
  const double log_total = std::log(total);
  const double entropy =
      SumWeights(candidates, [&](const Candidate& c) { return c.weight / total * (log_total - c.score); });
  const auto distance = [&](const Candidate& c) {
    return static_cast<float>(std::abs(log_total - static_cast<double>(c.score) - entropy));
  };
  const auto nearer = [&](const Candidate& a, const Candidate& b) {
    const float da = distance(a), db = distance(b);
    return da != db ? da < db : a.id < b.id;
  };
  double sum = 0.0;
  const double wanted = static_cast<double>(mass) * total;
  const size_t ordered =
      OrderUntil(candidates, nearer, [&](const Candidate& c) { return (sum += c.weight) >= wanted; });
  // Tokens at the same distance as the last one stay too.
  const float limit = distance(candidates[ordered - 1]);
  std::erase_if(candidates, [&](const Candidate& c) { return distance(c) > limit; });
}

}  // namespace

std::span<const Candidate> FilterLogits(const SamplerOptions& options, std::span<float> logits,
                                        FilterScratch& scratch) {
  std::vector<Candidate>& candidates = scratch.candidates;
  candidates.clear();
  const size_t best = ArgMax(logits.data(), logits.size());
  const float highest = logits[best];
  if (!std::isfinite(highest)) {  // +infinity, or nothing but NaN and -infinity: no distribution to speak of.
    candidates.push_back({0.0f, 1.0f, static_cast<TokenId>(best)});
    return candidates;
  }
  // The highest logit is subtracted first: dividing by a tiny temperature then cannot overflow to +infinity.
  for (float& logit : logits) logit = (logit - highest) / options.temperature;
  for (float& score : logits) score = score <= 0.0f ? score : kMinusInfinity;  // NaN.

  const bool has_top_k = options.top_k > 0 && static_cast<uint64_t>(options.top_k) < logits.size();
  if (has_top_k) {
    CollectByScore(logits, KthLargest(logits, static_cast<size_t>(options.top_k)), candidates);
    if (options.top_p < 1.0f) KeepTopP(options.top_p, TotalWeight(candidates), candidates);
  } else {
    std::vector<float>& weights = scratch.weights;
    weights.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) weights[i] = ExpWeight(logits[i]);
    const double total = SumWeights(weights, [](float w) { return static_cast<double>(w); });
    // All tokens lighter than (1 - top_p) * total / vocab_size weigh less than 1 - top_p together, so top-p
    // drops each of them; a hair less than that bound leaves room for rounding. Min-p compares with the highest
    // weight, which is 1.
    double lightest = options.min_p;
    if (options.top_p < 1.0f) {
      lightest = (1.0 - static_cast<double>(options.top_p)) * total / static_cast<double>(logits.size()) * 0.999;
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0.0f && weights[i] >= lightest) {
        candidates.push_back({logits[i], weights[i], static_cast<TokenId>(i)});
      }
    }
    if (options.top_p < 1.0f) KeepTopP(options.top_p, total, candidates);
  }
  if (options.min_p > 0.0f) KeepMinP(options.min_p, candidates);
  if (options.typical_p < 1.0f) KeepTypical(options.typical_p, candidates);
  const auto by_id = [](const Candidate& a, const Candidate& b) { return a.id < b.id; };
  if (!std::is_sorted(candidates.begin(), candidates.end(), by_id))
    std::sort(candidates.begin(), candidates.end(), by_id);
  return candidates;
}

}  // namespace prenorm
