// e^x for sampling weights: plain float code that compilers vectorize for the baseline CPU, with the
// same bits everywhere.
#pragma once

#include <bit>
#include <cstdint>

namespace prenorm {

/// e^x for x <= 0 within 2 ulp; 0 below -87 and for NaN. Not libm's: its last bit depends on the CPU, and a seed must
/// give the same text on every machine. No table, no branch.
inline float ExpWeight(float x) {
  constexpr float kLowest = -87.0f;  // e^-87 is still a normal number.
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // Nine bits: exact when multiplied by an exponent.
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to an integer.
  const float bounded = x > kLowest ? x : kLowest;
  const float exponent = (bounded * kLog2E + kRound) - kRound;
  const float r = (bounded - exponent * kLn2High) - exponent * kLn2Low;
  // Taylor polynomial on |r| <= ln2 / 2, where the first omitted term is 1e-8.
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float power = std::bit_cast<float>((static_cast<int32_t>(exponent) + 127) << 23);
  return p * power * static_cast<float>(x >= kLowest);
}

}  // namespace prenorm
