// The same bits from every SIMD target that promises them, and no fault on any: norms and dequantization of arbitrary
// bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/norm.h"
#include "prenorm/target.h"

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
    if (!target.starts_with("AVX") && !target.starts_with("NEON")) continue;  // Without FMA: within bounds only.
    if (expected.empty()) expected = found;
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end(), SameValue)) __builtin_trap();
  }
  return 0;
}
