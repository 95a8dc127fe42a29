// Norms of one row in long double, by formulas other than the kernels': divisions instead of reciprocals, no lanes, no
// shift, no scaling. The range of long double needs none.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace prenorm::reference {

using Row = std::vector<long double>;

// x / sqrt(mean square + eps), or x / (sqrt(mean square) + eps); the gain is up to the caller.
inline Row RmsNorm(const Row& x, long double eps, bool eps_outside = false) {
  long double squares = 0.0L;
  for (const long double v : x) squares += v * v;
  const long double mean_square = squares / static_cast<long double>(x.size());
  const long double rms = eps_outside ? std::sqrt(mean_square) + eps : std::sqrt(mean_square + eps);
  Row y;
  for (const long double v : x) y.push_back(v / rms);
  return y;
}

// (x - mean) / sqrt(biased variance + eps).
inline Row LayerNorm(const Row& x, long double eps) {
  const auto count = static_cast<long double>(x.size());
  long double sum = 0.0L;
  for (const long double v : x) sum += v;
  const long double mean = sum / count;
  long double squares = 0.0L;
  for (const long double v : x) squares += (v - mean) * (v - mean);
  const long double stddev = std::sqrt(squares / count + eps);
  Row y;
  for (const long double v : x) y.push_back((v - mean) / stddev);
  return y;
}

// exp(x) / sum of exp(x), as a sum over differences: p_i = 1 / sum_j exp(x_j - x_i).
inline Row Softmax(const Row& x) {
  Row y;
  for (const long double xi : x) {
    long double sum = 0.0L;
    for (const long double xj : x) sum += std::exp(xj - xi);
    y.push_back(std::isinf(xi) && xi < 0 ? 0.0L : 1.0L / sum);
  }
  return y;
}

}  // namespace prenorm::reference
