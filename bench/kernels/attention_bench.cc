// Attention in decode (one token, all query heads of a key/value head) and in prefill (causal).
//
// Decode walks through enough heads to outgrow the second-level cache, as the layers of a model do, and reports bytes
// of keys and values read; BM_Read is the same walk with nothing but loads. Prefill reports multiply-adds it needs,
// times 2: what lies above the diagonal does not count.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "prenorm/attention.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

constexpr size_t kWorkingSetBytes = size_t{48} << 20;
constexpr size_t kPrefillTile = 16;  // Tokens of a call, as in the engine.

// Caches of several heads with the same content, and queries.
class Heads {
 public:
  Heads(DType type, size_t head_dim, size_t positions, size_t n_heads, size_t rows)
      : head_dim_(head_dim),
        positions_(positions),
        head_bytes_(KeyCapacity(positions) * RowBytes(type, head_dim)),
        keys_(n_heads * head_bytes_),
        values_(n_heads * head_bytes_),
        queries_(rows * head_dim) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& x : queries_) x = normal(random);
    std::vector<float> rows_of_head(positions * head_dim);
    for (float& x : rows_of_head) x = normal(random);
    args_.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    args_.cache = {type, head_dim, keys_.data(), values_.data()};
    StoreKv(args_.cache, 0, positions, rows_of_head.data(), rows_of_head.data(), head_dim);
    for (size_t h = 1; h < n_heads; ++h) {
      std::memcpy(&keys_[h * head_bytes_], keys_.data(), head_bytes_);
      std::memcpy(&values_[h * head_bytes_], values_.data(), head_bytes_);
    }
  }

  AttentionArgs Args(size_t head) {
    AttentionArgs args = args_;
    args.cache.keys = &keys_[head * head_bytes_];
    args.cache.values = &values_[head * head_bytes_];
    return args;
  }

  // Mean of the values in plain f64, for the check below.
  bool Agrees(const float* out, size_t row, size_t visible_end) {
    std::vector<double> sums(head_dim_ + 1);
    const auto value = [&](size_t index, const std::vector<unsigned char>& from) {
      f16 half;
      std::memcpy(&half, &from[index * 2], 2);
      float single;
      if (args_.cache.type == DType::kF32) std::memcpy(&single, &from[index * 4], 4);
      return static_cast<double>(args_.cache.type == DType::kF32 ? single : ToF32(half));
    };
    for (size_t p = 0; p < visible_end; ++p) {
      double score = 0.0;
      for (size_t d = 0; d < head_dim_; ++d) {
        score += static_cast<double>(queries_[row * head_dim_ + d]) * value(KeyIndex(p, d, head_dim_), keys_);
      }
      const double weight = std::exp(score * static_cast<double>(args_.scale));
      for (size_t d = 0; d < head_dim_; ++d) sums[d] += weight * value(p * head_dim_ + d, values_);
      sums[head_dim_] += weight;
    }
    for (size_t d = 0; d < head_dim_; ++d) {
      if (!(std::abs(sums[d] / sums[head_dim_] - static_cast<double>(out[d])) < 1e-5)) return false;
    }
    return true;
  }

  size_t head_dim_;
  size_t positions_;
  size_t head_bytes_;
  std::vector<unsigned char> keys_;
  std::vector<unsigned char> values_;
  std::vector<float> queries_;
  AttentionArgs args_;
};

void BM_Decode(benchmark::State& state, DType type) {
  const auto head_dim = static_cast<size_t>(state.range(0));
  const auto group = static_cast<size_t>(state.range(1));
  const auto positions = static_cast<size_t>(state.range(2));
  const size_t bytes = 2 * positions * RowBytes(type, head_dim);
  const size_t n_heads = kWorkingSetBytes / bytes + 1;
  Heads heads(type, head_dim, positions, n_heads, group);
  const std::vector<size_t> visible_end(group, positions);
  std::vector<float> out(group * head_dim);
  std::vector<unsigned char> scratch(AttentionScratchBytes(group, head_dim, DType::kF16));
  size_t head = 0;
  for (auto _ : state) {
    Attention(heads.Args(head), heads.queries_.data(), head_dim, visible_end.data(), group, out.data(), head_dim,
              scratch.data());
    benchmark::ClobberMemory();
    head = head + 1 == n_heads ? 0 : head + 1;
  }
  if (!heads.Agrees(out.data(), 0, positions)) state.SkipWithError("wrong result");
  state.SetBytesProcessed(static_cast<int64_t>(static_cast<size_t>(state.iterations()) * bytes));
}

void BM_Prefill(benchmark::State& state, DType type) {
  const auto head_dim = static_cast<size_t>(state.range(0));
  const auto group = static_cast<size_t>(state.range(1));
  const auto positions = static_cast<size_t>(state.range(2));
  const size_t rows = positions * group;
  Heads heads(type, head_dim, positions, 1, rows);
  std::vector<size_t> visible_end;
  for (size_t r = 0; r < rows; ++r) visible_end.push_back(r / group + 1);
  std::vector<float> out(rows * head_dim);
  const size_t tile = kPrefillTile * group;
  std::vector<unsigned char> scratch(AttentionScratchBytes(tile, head_dim, DType::kF16));
  for (auto _ : state) {
    for (size_t row = 0; row < rows; row += tile) {
      const size_t count = std::min(tile, rows - row);
      Attention(heads.Args(0), &heads.queries_[row * head_dim], head_dim, &visible_end[row], count,
                &out[row * head_dim], head_dim, scratch.data());
    }
    benchmark::ClobberMemory();
  }
  if (!heads.Agrees(&out[(rows - 1) * head_dim], rows - 1, positions)) state.SkipWithError("wrong result");
  const double products = static_cast<double>(positions * (positions + 1) / 2 * group * head_dim * 2);
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * products * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void BM_Read(benchmark::State& state) {
  std::vector<uint64_t> data(kWorkingSetBytes / sizeof(uint64_t), 1);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const uint64_t x : data) sum += x;
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(static_cast<int64_t>(static_cast<size_t>(state.iterations()) * kWorkingSetBytes));
}

void DecodeShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"head_dim", "group", "positions"})->UseRealTime();
  for (const int64_t positions : {2048, 8192}) {
    for (const int64_t head_dim : {64, 128}) {
      for (const int64_t group : {3, 4, 7}) bench->Args({head_dim, group, positions});
    }
  }
}

BENCHMARK(BM_Read)->UseRealTime();
BENCHMARK_CAPTURE(BM_Decode, f16, DType::kF16)->Apply(DecodeShapes);
BENCHMARK_CAPTURE(BM_Decode, f32, DType::kF32)->Apply(DecodeShapes);
BENCHMARK_CAPTURE(BM_Prefill, f16, DType::kF16)
    ->ArgNames({"head_dim", "group", "positions"})
    ->Args({64, 3, 512})
    ->Args({64, 7, 512})
    ->Args({128, 4, 512})
    ->Args({64, 3, 2048})
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Prefill, f32, DType::kF32)
    ->ArgNames({"head_dim", "group", "positions"})
    ->Args({64, 3, 512})
    ->UseRealTime();

}  // namespace
}  // namespace prenorm

int main(int argc, char** argv) {
  // PRENORM_TARGET forces a SIMD target, e.g. AVX2.
  if (const char* target = std::getenv("PRENORM_TARGET")) {
    if (const prenorm::Status status = prenorm::ForceTarget(target); !status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("target", prenorm::ActiveTarget());
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
