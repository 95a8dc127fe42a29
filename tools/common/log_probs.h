// What two runtimes say of the next token: log-probabilities, and how far one distribution is from the other.
#pragma once

#include <cstddef>
#include <vector>

namespace prenorm::tools {

/// logits[i] - log(sum of exp(logits)), in f64; in place, rounded to f32 at the end. Requires a value.
void LogSoftmax(float* logits, size_t count);

/// Sum of p (log p - log q) over two rows of log-probabilities, in f64, p being the reference; terms
/// with p of 0 count 0.
double KlDivergence(const float* log_p, const float* log_q, size_t count);

/// Mean, tail and agreement of many positions.
class DivergenceTotals {
 public:
  void Add(double kl, bool same_top1);
  double mean() const;
  double quantile(double q) const;
  double same_top1() const;  ///< Share of the positions, 0 to 1.

 private:
  std::vector<double> kl_;
  size_t same_ = 0;
};

}  // namespace prenorm::tools
