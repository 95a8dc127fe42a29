// Sums in f64: a vocabulary has up to 262,144 terms, and divergences of interest are around 1e-5.
#include "tools/common/log_probs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/common/measure.h"

namespace prenorm::tools {

void LogSoftmax(float* logits, size_t count) {
  const double max = *std::max_element(logits, logits + count);
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(logits[i]) - max);
  const double log_sum = max + std::log(sum);
  for (size_t i = 0; i < count; ++i) logits[i] = static_cast<float>(static_cast<double>(logits[i]) - log_sum);
}

double KlDivergence(const float* log_p, const float* log_q, size_t count) {
  // The last two terms sum to nothing over whole distributions. With them no term is negative, and the rounding of the
  // stored logarithms counts in second order only.
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(log_p[i])), q = std::exp(static_cast<double>(log_q[i]));
    if (p > 0.0) sum += p * (static_cast<double>(log_p[i]) - static_cast<double>(log_q[i]));
    sum += q - p;
  }
  return sum;
}

void DivergenceTotals::Add(double kl, bool same_top1) {
  kl_.push_back(kl);
  same_ += same_top1 ? 1 : 0;
}

double DivergenceTotals::mean() const {
  return kl_.empty() ? 0.0 : std::accumulate(kl_.begin(), kl_.end(), 0.0) / static_cast<double>(kl_.size());
}

double DivergenceTotals::quantile(double q) const { return kl_.empty() ? 0.0 : Quantile(kl_, q); }

double DivergenceTotals::same_top1() const {
  return kl_.empty() ? 0.0 : static_cast<double>(same_) / static_cast<double>(kl_.size());
}

}  // namespace prenorm::tools
