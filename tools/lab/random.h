// Random numbers that are the same with every standard library, whose normal_distribution is not.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace prenorm::tools {

class LabRandom {
 public:
  explicit LabRandom(uint64_t seed) : engine_(seed) {}

  /// In (0, 1).
  double Uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  /// Of mean 0 and variance 1, by Box and Muller.
  double Normal() { return std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * std::numbers::pi * Uniform()); }

  std::vector<float> Normals(size_t count, double mean, double deviation) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(mean + deviation * Normal());
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace prenorm::tools
