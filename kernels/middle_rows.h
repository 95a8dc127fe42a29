// Rows into bf16 whose results lie at the middle between two bf16 numbers again and again.
//
// Where all |x| are nearly alike, |x^| is 1 but for eps and for their spread, and 1 + gain is often at the very middle
// between two bf16 numbers; so is gain * x^ + bias in LayerNorm of two values that are equally frequent. What decides
// is then far below the last bit of f32. Such rows are told by their first few elements, and computed here in pairs of
// f64 (Dekker 1971), some 100 bits. A test of every result for being near the middle, in the SIMD loops, would cost 4 %
// or more. The scalar code gives the same bits on every machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "prenorm/norm.h"
#include "prenorm/types.h"

namespace prenorm {

// hi + lo, where lo is at most half a unit in the last place of hi.
struct Pair {
  double hi = 0.0;
  double lo = 0.0;
};

inline Pair TwoSum(double a, double b) {
  const double sum = a + b;
  const double from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}
inline Pair Add(Pair a, Pair b) {
  const Pair high = TwoSum(a.hi, b.hi);
  return TwoSum(high.hi, high.lo + (a.lo + b.lo));
}
inline Pair Mul(Pair a, Pair b) {
  const double product = a.hi * b.hi;
  return TwoSum(product, std::fma(a.hi, b.hi, -product) + (a.hi * b.lo + a.lo * b.hi));
}
inline Pair Div(Pair a, Pair b) {
  const double quotient = a.hi / b.hi;
  return TwoSum(quotient, (std::fma(-quotient, b.hi, a.hi) + (a.lo - quotient * b.lo)) / b.hi);
}
inline Pair Sqrt(Pair a) {
  if (a.hi <= 0.0) return {std::sqrt(a.hi), 0.0};
  const double root = std::sqrt(a.hi);
  return TwoSum(root, (std::fma(-root, root, a.hi) + a.lo) / (2.0 * root));
}

// To nearest, ties to even, in one rounding.
inline bf16 PairToBf16(Pair v) {
  if (!std::isfinite(v.hi)) return ToBf16(static_cast<float>(v.hi));
  const bool negative = std::signbit(v.hi);
  const double magnitude = std::abs(v.hi);
  const double rest = negative ? -v.lo : v.lo;
  const int exponent = magnitude < 0x1p-126 ? -126 : std::ilogb(magnitude);
  const double steps = std::ldexp(magnitude, 7 - exponent);
  const double below = std::floor(steps);
  const double part = steps - below;
  const bool odd = std::fmod(below, 2.0) != 0.0;
  const bool up = part > 0.5 || (part == 0.5 && (rest > 0.0 || (rest == 0.0 && odd)));
  const auto rounded =
      static_cast<float>(std::ldexp(below + (up ? 1.0 : 0.0), exponent - 7));  // Inf above the largest.
  return ToBf16(negative ? -rounded : rounded);
}

inline double Wide(float x) { return static_cast<double>(x); }
inline double Wide(bf16 x) { return static_cast<double>(ToF32(x)); }
inline uint32_t MagnitudeBits(float x) { return std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu; }
inline uint32_t MagnitudeBits(bf16 x) { return MagnitudeBits(ToF32(x)); }

// Within one part in 2000 or so.
inline bool Alike(uint32_t magnitude, uint32_t other) {
  constexpr uint32_t kWithin = 1u << 12;
  return magnitude - other + kWithin <= 2 * kWithin;
}

// What one or two comparisons tell of a row: false if it is certainly not of the kind that the
// functions below look for.
template <typename X>
bool MayBeAlike(const X* x, size_t cols) {
  return cols < 2 || Alike(MagnitudeBits(x[0]), MagnitudeBits(x[1]));
}
template <typename X>
bool MayBeBalanced(const X* x, size_t cols) {
  return cols % 2 == 0 &&
         (cols == 2 || Wide(x[0]) == Wide(x[1]) || Wide(x[2]) == Wide(x[0]) || Wide(x[2]) == Wide(x[1]));
}

// Whether all |x| are finite, not 0, and alike.
template <typename X>
bool AlikeMagnitudes(const X* x, size_t cols) {
  constexpr uint32_t kInf = 0x7F800000u;
  const uint32_t first = MagnitudeBits(x[0]);
  if (first == 0 || first >= kInf) return false;
  for (size_t i = 1; i < cols; ++i) {
    const uint32_t bits = MagnitudeBits(x[i]);
    if (bits >= kInf || !Alike(bits, first)) return false;
  }
  return true;
}

// The two values of a row that has one of them as often as the other, both finite.
template <typename X>
std::optional<std::pair<double, double>> BalancedValues(const X* x, size_t cols) {
  if (cols % 2 != 0) return std::nullopt;
  const double first = Wide(x[0]);
  size_t count = 1, i = 1;
  for (; i < cols && Wide(x[i]) == first; ++i) ++count;
  if (i == cols) return std::nullopt;
  const double second = Wide(x[i]);
  for (; i < cols; ++i) {
    const double value = Wide(x[i]);
    if (value == first) {
      ++count;
    } else if (value != second) {  // A NaN too.
      return std::nullopt;
    }
  }
  if (2 * count != cols || !std::isfinite(first) || !std::isfinite(second)) return std::nullopt;
  return std::make_pair(first, second);
}

// x_hat * gain + bias, rounded once.
inline bf16 Affine(Pair x_hat, Pair gain, double bias) {
  const double rough = x_hat.hi * gain.hi + bias;
  if (gain.hi == 0.0 || !std::isfinite(rough)) return ToBf16(static_cast<float>(rough));
  return PairToBf16(Add(Mul(x_hat, gain), {bias, 0.0}));
}

template <typename X, typename Gain>
void PreciseRmsRow(const X* x, const Gain* gain, bf16* out, size_t cols, const RmsNormOptions& options) {
  Pair squares;
  for (size_t i = 0; i < cols; ++i) squares = Add(squares, {Wide(x[i]) * Wide(x[i]), 0.0});  // The square is exact.
  const Pair mean = Div(squares, {static_cast<double>(cols), 0.0}), eps{Wide(options.eps), 0.0};
  const Pair root = options.eps_placement == EpsPlacement::kOutsideRoot ? Add(Sqrt(mean), eps) : Sqrt(Add(mean, eps));
  const bool one_plus = options.gain_form == GainForm::kOnePlusGain || options.cast == CastMode::kGemma;
  for (size_t i = 0; i < cols; ++i) {
    const Pair factor = gain == nullptr ? Pair{1.0, 0.0} : TwoSum(one_plus ? 1.0 : 0.0, Wide(gain[i]));
    out[i] = Affine(Div({Wide(x[i]), 0.0}, root), factor, -0.0);
  }
}

template <typename X, typename T>
void PreciseLayerRow(const X* x, std::pair<double, double> values, const T* gain, const T* bias, bf16* out, size_t cols,
                     const LayerNormOptions& options) {
  const Pair half = Mul(TwoSum(values.first, -values.second), {0.5, 0.0});
  const Pair x_hat = Div(half, Sqrt(Add(Mul(half, half), {Wide(options.eps), 0.0})));
  for (size_t i = 0; i < cols; ++i) {
    const double sign = Wide(x[i]) == values.first ? 1.0 : -1.0;
    out[i] = Affine({sign * x_hat.hi, sign * x_hat.lo}, {gain != nullptr ? Wide(gain[i]) : 1.0, 0.0},
                    bias != nullptr ? Wide(bias[i]) : -0.0);
  }
}

// Rows of a call: precise(row) takes a row and tells so, or leaves it to run(begin, end), which gets all that lie
// between together. Only rows of which may_be(row) is true are asked; without any, run gets all in one inlined call.
template <class MayBe, class Precise, class Run>
inline void RunAround(size_t rows, const MayBe& may_be, const Precise& precise, const Run& run) {
  size_t begin = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (!may_be(row) || !precise(row)) continue;
    if (begin != row) run(begin, row);
    begin = row + 1;
  }
  if (begin != rows) run(begin, rows);
}

}  // namespace prenorm
