// What bench and profile need to measure: clock, quantiles, a bandwidth probe, tokens to run on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "prenorm/tokenizer.h"

namespace prenorm::tools {

/// Nanoseconds of a monotonic clock.
inline uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

/// The q-quantile, 0 <= q <= 1, with linear interpolation. Requires a value.
double Quantile(std::vector<double> values, double q);

/// Read bandwidth of memory in bytes a second: the best of several sums over one word of each cache line of a buffer of
/// `megabytes` (less where memory is short; 0 is the result where there is none), split over `threads`. Every line of a
/// buffer larger than the caches crosses from memory, so this is the ceiling for whatever reads weights once.
double ProbeReadBandwidth(int threads, int64_t megabytes);

/// `count` ids spread over the vocabulary, the same ones every time.
std::vector<TokenId> SpreadTokens(size_t count, size_t vocab_size);

}  // namespace prenorm::tools
