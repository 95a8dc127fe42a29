// PCG32, the generator behind sampled tokens: small, fast, and the same numbers on every machine.
#pragma once

#include <cstdint>

namespace prenorm {

/// pcg32 (XSH-RR 64/32) of O'Neill 2014, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms".
/// State and stream come from SplitMix64 (Steele, Lea, Flood 2014) so that neighbouring seeds are unrelated.
class Pcg32 {
 public:
  explicit Pcg32(uint64_t seed) {
    state_ = SplitMix64(seed);
    increment_ = SplitMix64(seed) | 1u;  // Any odd number selects a stream.
  }
  /// The reference implementation's seeding, for comparison with its published numbers.
  Pcg32(uint64_t initial_state, uint64_t stream) : increment_(stream << 1 | 1u) {
    Next();
    state_ += initial_state;
    Next();
  }

  uint32_t Next() {
    const uint64_t old = state_;
    state_ = old * 6364136223846793005u + increment_;
    const auto shifted = static_cast<uint32_t>(((old >> 18) ^ old) >> 27);
    const auto rotation = static_cast<uint32_t>(old >> 59);
    return shifted >> rotation | shifted << ((32u - rotation) & 31u);
  }

  /// Uniform in [0, 1), a multiple of 2^-32.
  double NextUnit() { return Next() * 0x1p-32; }

 private:
  static uint64_t SplitMix64(uint64_t& counter) {
    counter += 0x9E3779B97F4A7C15u;
    uint64_t z = counter;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_ = 0;
  uint64_t increment_ = 1;
};

}  // namespace prenorm
