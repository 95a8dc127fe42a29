// The oracle of `prenorm norms --accuracy`: scalar, in long double, by other formulas than the kernels: divisions
// instead of reciprocals, no lanes, no scaling, no maximum subtracted. The range of long double needs none of that.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "prenorm/norm.h"
#include "tools/norms_cases.h"

namespace prenorm::tools {

using Exact = std::vector<long double>;

template <typename T>
Exact Widened(const std::vector<T>& x) {
  Exact y;
  for (const T v : x) y.push_back(static_cast<long double>(Widen(v)));
  return y;
}

/// x / sqrt(mean square + eps), or x / (sqrt(mean square) + eps).
inline Exact ExactRmsNorm(const Exact& x, long double eps, EpsPlacement placement) {
  long double squares = 0.0L;
  for (const long double v : x) squares += v * v;
  const long double mean = squares / static_cast<long double>(x.size());
  const long double rms = placement == EpsPlacement::kInsideRoot ? std::sqrt(mean + eps) : std::sqrt(mean) + eps;
  Exact y;
  for (const long double v : x) y.push_back(v / rms);
  return y;
}

struct ExactMoments {
  long double mean = 0.0L;
  long double variance = 0.0L;  // Biased.
};

inline ExactMoments MomentsOf(const Exact& x) {
  const auto count = static_cast<long double>(x.size());
  ExactMoments moments;
  for (const long double v : x) moments.mean += v;
  moments.mean /= count;
  for (const long double v : x) moments.variance += (v - moments.mean) * (v - moments.mean);
  moments.variance /= count;
  return moments;
}

/// (x - mean) / sqrt(variance + eps); nothing where the mean is more than 10^6 standard deviations from 0,
/// or where it is 0/0.
inline Exact ExactLayerNorm(const Exact& x, long double eps) {
  const ExactMoments moments = MomentsOf(x);
  const long double stddev = std::sqrt(moments.variance + eps);
  if (!(stddev * 1e6L >= std::abs(moments.mean)) || stddev == 0.0L) return {};
  Exact y;
  for (const long double v : x) y.push_back((v - moments.mean) / stddev);
  return y;
}

/// What is promised of LayerNorm and its kin: unit is x^.
inline long double LayerBound(long double unit, long double gain, long double bias) {
  return 0x1p-24L * (8 * std::abs(gain * unit) + 24 * std::abs(gain) + 2 * std::abs(bias));
}
inline constexpr const char* kLayerPromise = "<= 2^-24 (8 |g x^| + 24 |g| + 2 |b|)";

}  // namespace prenorm::tools
