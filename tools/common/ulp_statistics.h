// Errors of many results, in units of the last place.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace prenorm::tools {

/// The unit of the last place of f32 (23 mantissa bits) or bf16 (7) at the magnitude of x; below the normal numbers
/// that of the smallest one.
inline double UlpAt(double x, int mantissa_bits) {
  const int exponent = static_cast<int>((std::bit_cast<uint64_t>(x) >> 52) & 0x7FF) - 1023;
  return std::ldexp(1.0, (exponent < -126 ? -126 : exponent) - mantissa_bits);
}

/// Counts errors up to kMost units in steps of a sixteenth.
class UlpStatistics {
 public:
  void Add(double ulp, bool correctly_rounded) {
    max_ = ulp > max_ ? ulp : max_;
    correct_ += correctly_rounded ? 1 : 0;
    ++bins_[ulp < kMost ? static_cast<size_t>(ulp * kSteps) : kMost * kSteps];
    ++count_;
  }
  uint64_t count() const { return count_; }
  uint64_t incorrect() const { return count_ - correct_; }
  double max() const { return max_; }
  double correctly_rounded() const {
    return count_ == 0 ? 1.0 : static_cast<double>(correct_) / static_cast<double>(count_);
  }
  /// The q-quantile, rounded up to a sixteenth; max() beyond kMost.
  double Quantile(double q) const {
    const double wanted = q * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t bin = 0; bin < kMost * kSteps; ++bin) {
      seen += bins_[bin];
      const double upper = static_cast<double>(bin + 1) / kSteps;
      if (static_cast<double>(seen) >= wanted) return upper < max_ ? upper : max_;
    }
    return max_;
  }
  /// Share of the results whose error is below `ulp`, a multiple of a sixteenth.
  double ShareBelow(double ulp) const {
    uint64_t seen = 0;
    for (size_t bin = 0; bin < kMost * kSteps && static_cast<double>(bin) < ulp * kSteps; ++bin) seen += bins_[bin];
    return count_ == 0 ? 0.0 : static_cast<double>(seen) / static_cast<double>(count_);
  }

 private:
  static constexpr size_t kMost = 16;
  static constexpr size_t kSteps = 16;
  std::array<uint64_t, kMost * kSteps + 1> bins_{};
  uint64_t count_ = 0;
  uint64_t correct_ = 0;
  double max_ = 0.0;
};

}  // namespace prenorm::tools
