// Norms and dequantization of arbitrary bytes: the same bits from every SIMD target that promises them, no fault on
// any, and norms within what their headers promise of the reference.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/norm.h"
#include "prenorm/target.h"
#include "tests/reference/norm_reference.h"

namespace prenorm {
namespace {

// Results of all kernels on one row, one after the other.
std::vector<float> Results(const std::vector<float>& x, const std::vector<uint8_t>& bytes) {
  const size_t cols = x.size();
  std::vector<float> all(3 * cols), row;
  RmsNorm(x.data(), cols, x.data(), all.data(), cols, 1, cols, {.eps = 1e-6f});
  LayerNorm(x.data(), cols, x.data(), x.data(), all.data() + cols, cols, 1, cols, {.eps = 1e-5f});
  std::vector<float> sum(cols);
  ResidualRmsNorm(x.data(), cols, x.data(), cols, sum.data(), cols, x.data(), all.data() + 2 * cols, cols, 1, cols, {},
                  {.eps = 1e-6f});
  for (const DType type : {DType::kQ8_0, DType::kQ4_1, DType::kQ5_K, DType::kQ6_K, DType::kBF16}) {
    const size_t elems = bytes.size() / InfoOf(type).block_bytes * InfoOf(type).block_elems;
    row.resize(elems);
    DequantizeRow(type, bytes.data(), elems, row.data());
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// The bounds of include/prenorm/norm.h.
void CheckNorms(const std::vector<float>& x) {
  const size_t cols = x.size();
  if (!std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); })) return;
  const reference::Row wide(x.begin(), x.end());
  std::vector<float> y(cols);
  RmsNorm<float, float, float>(x.data(), cols, nullptr, y.data(), cols, 1, cols, {.eps = 1e-6f});
  const reference::Row rms = reference::RmsNorm(wide, 1e-6f);
  for (size_t i = 0; i < cols; ++i) {
    const long double magnitude = std::abs(rms[i]);
    if (magnitude < 0x1p-126L) continue;
    if (std::abs(static_cast<long double>(y[i]) - rms[i]) > 12 * std::ldexp(1.0L, std::ilogb(magnitude) - 23)) {
      __builtin_trap();
    }
  }
  long double mean = 0.0L;
  for (const long double v : wide) mean += v / static_cast<long double>(cols);
  LayerNorm<float, float, float>(x.data(), cols, nullptr, nullptr, y.data(), cols, 1, cols, {.eps = 1e-5f});
  const reference::Row layer = reference::LayerNorm(wide, 1e-5f);
  for (size_t i = 0; i < cols; ++i) {
    const long double stddev = layer[i] == 0 ? 0.0L : (wide[i] - mean) / layer[i];
    if (stddev * 1e6L < std::abs(mean)) continue;
    if (std::abs(static_cast<long double>(y[i]) - layer[i]) > 0x1p-24L * (8 * std::abs(layer[i]) + 24)) {
      __builtin_trap();
    }
  }
}

bool SameValue(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

}  // namespace
}  // namespace prenorm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm;
  if (size < sizeof(float)) return 0;
  const std::vector<uint8_t> bytes(data, data + size);
  std::vector<float> x(size / sizeof(float));
  std::memcpy(x.data(), data, x.size() * sizeof(float));
  std::vector<float> expected;
  static const std::vector<std::string> targets = RunnableTargets();
  for (const std::string& target : targets) {
    if (!ForceTarget(target).ok()) __builtin_trap();
    const std::vector<float> found = Results(x, bytes);
    CheckNorms(x);
    if (!target.starts_with("AVX") && !target.starts_with("NEON")) continue;  // Without FMA: within bounds only.
    if (expected.empty()) expected = found;
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end(), SameValue)) __builtin_trap();
  }
  return 0;
}
