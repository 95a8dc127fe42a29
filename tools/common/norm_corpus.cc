// Random numbers by SplitMix64 (Steele, Lea and Flood 2014): the standard library's distributions
// differ between vendors.
#include "tools/common/norm_corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prenorm::tools {
namespace {

uint64_t SplitMix(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Longer rows take one eps each, in turn: they have values enough.
std::vector<float> EpsOf(size_t row, size_t cols) {
  const std::vector<float> all = {0.0f, 1e-12f, 1e-6f, 1e-5f};
  if (cols < 1000) return all;
  return {all[(row + cols) % all.size()]};
}

}  // namespace

std::vector<size_t> CorpusLengths(size_t cols_max) {
  std::vector<size_t> lengths = {1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 127, 576, 768, 2048, 4096, 8192, 16384, 65537};
  std::erase_if(lengths, [&](size_t cols) { return cols > cols_max; });
  return lengths;
}

std::vector<float> SpreadRow(size_t cols, uint64_t seed, float mean, float stddev) {
  std::vector<float> row(cols);
  uint64_t state = seed;
  for (float& v : row) {  // The sum of twelve uniform numbers has variance 1.
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(SplitMix(state) >> 11) * 0x1p-53;
    v = mean + stddev * static_cast<float>(sum);
  }
  return row;
}

std::vector<CorpusRow> CorpusRows(size_t cols) {
  const float largest = std::numeric_limits<float>::max();
  const auto count = static_cast<float>(cols);
  const std::vector<float> spread = SpreadRow(cols, cols, 0.0f, 1.0f);
  std::vector<CorpusRow> rows;
  const auto add = [&](const char* name, auto value_of) {
    CorpusRow row{name, spread, EpsOf(rows.size(), cols)};
    for (size_t i = 0; i < cols; ++i) row.x[i] = value_of(i, spread[i]);
    rows.push_back(std::move(row));
  };
  add("spread", [](size_t, float v) { return v; });
  add("1e30", [](size_t, float v) { return v * 1e30f; });
  add("largest / sqrt", [&](size_t i, float) { return (i % 3 == 0 ? -largest : largest) / std::sqrt(count); });
  add("largest", [&](size_t, float v) { return std::clamp(v, -1.0f, 1.0f) * largest; });
  add("1e30 among 1", [](size_t i, float v) { return i % 5 == 0 ? 1e30f : v; });
  add("1e-30", [](size_t, float v) { return v * 1e-30f; });
  add("1e-38", [](size_t, float v) { return v * 1e-38f; });
  add("subnormal", [](size_t i, float v) { return std::copysign(static_cast<float>(1 + i % 99) * 0x1p-149f, v); });
  add("outlier", [](size_t i, float v) { return i == 0 ? 1000.0f : v * 1e-4f; });
  add("ascending", [&](size_t i, float) { return static_cast<float>(i + 1) / count; });
  add("descending", [&](size_t i, float) { return static_cast<float>(cols - i) * 0.37f; });
  add("alternating", [](size_t i, float) { return i % 2 == 0 ? 3.3f : -3.3f; });
  for (const float mean : {1.0f, 1e2f, 1e4f, -1e4f, 1e6f, -1e6f}) {
    add("far from zero", [&](size_t, float v) { return mean + v; });
  }
  return rows;
}

std::vector<CorpusRow> SoftmaxRows(size_t cols) {
  return {{"around 3", SpreadRow(cols, cols, 3.0f, 5.0f), {}},
          {"around -100", SpreadRow(cols, cols, -100.0f, 20.0f), {}}};
}

std::vector<float> CorpusGain(size_t cols) { return SpreadRow(cols, 1, 1.0f, 0.3f); }
std::vector<float> CorpusBias(size_t cols) { return SpreadRow(cols, 2, 0.0f, 1.0f); }

}  // namespace prenorm::tools
