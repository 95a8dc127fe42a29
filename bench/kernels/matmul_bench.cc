// Products of every weight type on every runnable target: GB/s of weights for one row (decode), Gop/s for 512
// (prefill), beside a plain read of memory in the same run.
//
//   matmul_bench [--benchmark_filter=AVX2/Q4_1]
// Names are target/type/rows x cols/n. "cached" products repeat one matrix; "streamed" ones walk over copies of 128 MB
// in all.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/matmul_panels.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

constexpr size_t kStreamBytes = size_t{128} << 20;

constexpr DType kTypes[] = {DType::kQ4_1,  DType::kQ4_0,  DType::kQ8_0,    DType::kQ5_0, DType::kQ5_1,   DType::kQ4_K,
                            DType::kQ5_K,  DType::kQ6_K,  DType::kQ3_K,    DType::kQ2_K, DType::kIQ4_NL, DType::kIQ4_XS,
                            DType::kMXFP4, DType::kIQ3_S, DType::kIQ3_XXS, DType::kBF16, DType::kF16,    DType::kF32};

// Any bytes are valid codes of quantized types once the scales are finite; plain types get values in [-1, 1], because
// denormal numbers would be timed otherwise.
std::vector<uint8_t> RandomBytes(DType type, size_t rows, size_t cols, size_t copies) {
  std::vector<uint8_t> bytes(rows * RowBytes(type, cols) * copies);
  std::mt19937_64 rng(1);
  if (InfoOf(type).block_elems > 1) {
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      const uint64_t v = rng() & 0x3F3F3F3F3F3F3F3Full;
      std::memcpy(bytes.data() + i, &v, 8);
    }
    return bytes;
  }
  const size_t elements = rows * cols * copies;
  for (size_t i = 0; i < elements; ++i) {
    const float v = static_cast<float>(static_cast<int64_t>(rng())) * 0x1p-63f;
    const bf16 as_bf16 = ToBf16(v);
    const f16 as_f16 = ToF16(v);
    const void* from = &v;
    if (type == DType::kBF16) from = &as_bf16;
    if (type == DType::kF16) from = &as_f16;
    std::memcpy(bytes.data() + i * InfoOf(type).block_bytes, from, InfoOf(type).block_bytes);
  }
  return bytes;
}

struct Setup {
  Setup(DType type, size_t rows, size_t cols, size_t n, size_t copies_wanted)
      : copies(copies_wanted), matrix_bytes(rows * RowBytes(type, cols)), bytes(RandomBytes(type, rows, cols, copies)) {
    std::vector<uint8_t> scratch(RowGroup() * RowBytes(type, cols));
    w = {type, rows, cols, bytes.data(), true};
    x.assign(n * cols, 0.0f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    std::vector<float> row(cols);
    DequantizeRow(type, bytes.data(), cols, row.data());
    for (size_t c = 0; c < cols; ++c) {
      expected += static_cast<double>(row[c]) * x[c];
      magnitude += std::fabs(static_cast<double>(row[c]) * x[c]);
    }
    for (size_t k = 0; k < copies; ++k) {
      InterleaveRows(type, cols, bytes.data() + k * matrix_bytes, 0, rows / RowGroup(), scratch.data());
    }
    pack.resize(ActivationBytes(ActivationFormatOf(type), cols, n) + 64);
    aligned = pack.data() + (64 - reinterpret_cast<uintptr_t>(pack.data()) % 64) % 64;
    PackActivations(ActivationFormatOf(type), x.data(), cols, cols, 0, n, n, aligned);
    out.assign(n * rows, 0.0f);
    product_scratch.resize(MatMulScratchBytes(cols));
  }

  size_t copies, matrix_bytes;
  std::vector<uint8_t> bytes, pack, product_scratch;
  uint8_t* aligned;
  std::vector<float> x, out;
  WeightMatrix w;
  double expected = 0, magnitude = 0;
};

void RunProduct(benchmark::State& state, const std::string& target, DType type, size_t rows, size_t cols, size_t n,
                bool streamed) {
  if (!ForceTarget(target).ok()) return state.SkipWithError("target cannot run");
  const size_t copies = streamed ? std::max<size_t>(1, kStreamBytes / (rows * RowBytes(type, cols))) : 1;
  Setup s(type, rows, cols, n, copies);
  MatMul(s.w, 0, rows, s.aligned, n, s.out.data(), rows, false, s.product_scratch.data());
  if (!(std::fabs(s.out[0] - s.expected) <= 0.01 * s.magnitude)) return state.SkipWithError("wrong result");
  size_t copy = 0;
  for (auto _ : state) {
    s.w.data = s.bytes.data() + copy * s.matrix_bytes;
    copy = (copy + 1) % copies;
    MatMul(s.w, 0, rows, s.aligned, n, s.out.data(), rows, false, s.product_scratch.data());
    benchmark::ClobberMemory();
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["GB/s"] =
      benchmark::Counter(iterations * static_cast<double>(s.matrix_bytes) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["Gop/s"] =
      benchmark::Counter(iterations * 2e-9 * static_cast<double>(rows * cols * n), benchmark::Counter::kIsRate);
  if (!ForceTarget("").ok()) std::abort();
}

void RunPack(benchmark::State& state, const std::string& target, size_t cols, size_t n) {
  if (!ForceTarget(target).ok()) return state.SkipWithError("target cannot run");
  Setup s(DType::kQ8_0, RowGroup(), cols, n, 1);
  for (auto _ : state) {
    PackActivations(ActivationFormat::kInt8, s.x.data(), cols, cols, 0, n, n, s.aligned);
    benchmark::ClobberMemory();
  }
  state.counters["Gelem/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * cols * n) * 1e-9, benchmark::Counter::kIsRate);
  if (!ForceTarget("").ok()) std::abort();
}

// Interleaving is start-up time: it must not be slower than reading the file.
void RunInterleave(benchmark::State& state, DType type) {
  Setup s(type, 576, 1536, 1, 1);
  std::vector<uint8_t> scratch(RowGroup() * RowBytes(type, 1536));
  for (auto _ : state) InterleaveRows(type, 1536, s.bytes.data(), 0, 576 / RowGroup(), scratch.data());
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * s.matrix_bytes) * 1e-9, benchmark::Counter::kIsRate);
}

void ReadProbe(benchmark::State& state) {
  std::vector<uint64_t> data(kStreamBytes / sizeof(uint64_t), 1);
  for (auto _ : state) {
    uint64_t sum[8] = {};
    for (size_t i = 0; i < data.size(); i += 8) {
      for (size_t k = 0; k < 8; ++k) sum[k] += data[i + k];
    }
    benchmark::DoNotOptimize(sum);
  }
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kStreamBytes) * 1e-9, benchmark::Counter::kIsRate);
}

void RegisterAll() {
  benchmark::RegisterBenchmark("read_probe", ReadProbe);
  for (const std::string& target : RunnableTargets()) {
    for (const DType type : kTypes) {
      const std::string name = target + "/" + InfoOf(type).name + "/";
      const auto add = [&](size_t rows, size_t cols, size_t n, bool streamed) {
        const std::string shape = std::to_string(rows) + "x" + std::to_string(cols) + "/" + std::to_string(n);
        benchmark::RegisterBenchmark(
            (name + shape + (streamed ? "/streamed" : "/cached")).c_str(),
            [=](benchmark::State& s) { RunProduct(s, target, type, rows, cols, n, streamed); });
      };
      const bool super = InfoOf(type).block_elems == 256;
      const size_t dim = super ? 768 : 576;  // SmolLM2's width is no multiple of 256
      add(dim, dim, 1, false);
      add(1536, dim, 1, false);
      add(dim, 1536, 1, false);
      add(1536, dim, 1, true);
      add(49152, dim, 1, true);
      for (const size_t n : {2, 4, 8, 16}) add(dim, 1536, n, false);
      add(1536, dim, 512, false);
      add(dim, 1536, 512, false);
    }
    benchmark::RegisterBenchmark((target + "/pack/1536/1").c_str(),
                                 [=](benchmark::State& s) { RunPack(s, target, 1536, 1); });
    benchmark::RegisterBenchmark((target + "/pack/1536/512").c_str(),
                                 [=](benchmark::State& s) { RunPack(s, target, 1536, 512); });
  }
  for (const DType type : kTypes) {
    if (!CanInterleave(type)) continue;
    benchmark::RegisterBenchmark((std::string("interleave/") + InfoOf(type).name).c_str(),
                                 [=](benchmark::State& s) { RunInterleave(s, type); });
  }
}

}  // namespace
}  // namespace prenorm

int main(int argc, char** argv) {
  prenorm::RegisterAll();
  std::printf("compiler %s, active target %s, 1 thread\n", __VERSION__, prenorm::ActiveTarget());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
