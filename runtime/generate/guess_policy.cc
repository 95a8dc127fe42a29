// The expected number of tokens of a step with k guesses, each right with probability a, is 1 + a + ... + a^k.
#include "runtime/generate/guess_policy.h"

#include <algorithm>

namespace prenorm {
namespace {

constexpr double kUnmeasuredSlope = 0.05;  // Of a single step, a token.
constexpr double kLeastGain = 1.03;        // Below that, noise decides.
constexpr double kFading = 0.95;           // A trial: the last 20 count.
constexpr size_t kLongestWait = 256;       // Steps.

}  // namespace

double EstimateStepNs(const StepCost& measured, size_t n) {
  const auto cost = [&](size_t tokens) { return static_cast<double>(measured(tokens)); };
  if (cost(n) > 0) return cost(n);
  size_t below = n - 1;
  while (below > 1 && cost(below) == 0) --below;
  size_t above = n + 1;
  while (above <= Session::kTimedTokens && cost(above) == 0) ++above;
  const auto step = static_cast<double>(n - below);
  if (above > Session::kTimedTokens) return cost(below) + kUnmeasuredSlope * cost(1) * step;
  return cost(below) + (cost(above) - cost(below)) * step / static_cast<double>(above - below);
}

size_t GuessPolicy::Choose(size_t kind, size_t most, const StepCost& measured, uint64_t guess_ns) const {
  const auto single = static_cast<double>(measured(1));
  if (single == 0) return 0;
  const double right = shares_[kind].right / shares_[kind].all;
  double tokens = 1.0, chance = 1.0, best = kLeastGain;
  size_t choice = 0;
  for (size_t k = 1; k <= most; ++k) {
    chance *= right;
    tokens += chance;
    const double gain = tokens * single / (EstimateStepNs(measured, k + 1) + static_cast<double>(k * guess_ns));
    if (gain > best) {
      best = gain;
      choice = k;
    }
  }
  return choice;
}

void GuessPolicy::Count(size_t kind, bool right) {
  Share& share = shares_[kind];
  share.right = kFading * share.right + (right ? 1.0 : 0.0);
  share.all = kFading * share.all + 1.0;
}

bool GuessPolicy::TimeToTry() {
  if (plain_steps_ < next_try_) return false;
  plain_steps_ = 0;
  next_try_ = std::min(2 * next_try_, kLongestWait);
  return true;
}

}  // namespace prenorm
