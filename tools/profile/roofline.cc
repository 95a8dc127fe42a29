// Peaks of arithmetic are those of the engine's own products with operands that stay in the caches: a ceiling that is
// reached, where a figure from a data sheet would not be.
#include "tools/profile/roofline.h"

#include <algorithm>
#include <vector>

#include "prenorm/matmul.h"
#include "tools/common/measure.h"

namespace prenorm::tools {
namespace {

constexpr size_t kCols = 512, kTokens = 64, kRowsOfThread = 256;
constexpr int kPasses = 5, kProducts = 8;

DType TypeByName(std::string_view name) {
  for (uint32_t id = 0; id < 64; ++id) {
    const DTypeInfo info = InfoOf(static_cast<DType>(id));
    if (info.name != nullptr && name == info.name) return static_cast<DType>(id);
  }
  return DType::kF32;
}

// Zeros are as much work as other numbers, and the same bytes interleaved or not.
double ProductPeak(DType type, int threads) {
  const size_t rows = kRowsOfThread * static_cast<size_t>(threads);
  const std::vector<uint8_t> weights(rows * RowBytes(type, kCols));
  const WeightMatrix w{type, rows, kCols, weights.data(), CanInterleave(type)};
  const std::vector<float> x(kTokens * kCols, 1.0f);
  const ActivationFormat format = ActivationFormatOf(type);
  std::vector<uint8_t> pack(ActivationBytes(format, kCols, kTokens) + 64);
  auto* aligned = pack.data() + (64 - reinterpret_cast<uintptr_t>(pack.data()) % 64) % 64;
  PackActivations(format, x.data(), kCols, kCols, 0, kTokens, kTokens, aligned);
  std::vector<float> out(kTokens * rows);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const uint64_t begin = NowNs();
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread) {
      const size_t first = kRowsOfThread * static_cast<size_t>(thread);
      for (int i = 0; i < kProducts; ++i) {
        MatMul(w, first, first + kRowsOfThread, aligned, kTokens, out.data(), rows, /*accumulate=*/false);
      }
    }
    const auto flops = 2.0 * static_cast<double>(rows * kCols * kTokens * kProducts);
    best = std::max(best, flops * 1e9 / static_cast<double>(NowNs() - begin));
  }
  return best;
}

}  // namespace

Roofline MeasureRoofline(const Model& model, int threads, int64_t probe_mb) {
  Roofline roofline;
  roofline.memory_bytes_s = ProbeReadBandwidth(threads, probe_mb);
  roofline.cache_bytes_s = ProbeReadBandwidth(threads, threads);  // One megabyte a core.
  roofline.product_flops_s = ProductPeak(TypeByName(model.quantization()), threads);
  roofline.f32_flops_s = ProductPeak(DType::kF32, threads);
  return roofline;
}

}  // namespace prenorm::tools
