// Throughput and load time of a tokenizer: tokenizer_bench MODEL.gguf TEXT-FILE [Google Benchmark's options].
// The text is read whole; bytes/s counts its bytes. Decoding is checked to give the text back before anything is timed.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/conformance/conformance.h"

namespace prenorm {
namespace {

void BM_Encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  size_t tokens = 0;
  for (auto _ : state) {
    auto ids = tokenizer.Encode(text);
    tokens = ids->size();
    benchmark::DoNotOptimize(ids);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void BM_Load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto loaded = LoadGgufTokenizer(path);
    benchmark::DoNotOptimize(loaded);
  }
}

int Run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL.gguf TEXT-FILE\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto loaded = LoadGgufTokenizer(path);
  if (!loaded.ok() || text.empty()) {
    std::fprintf(stderr, "%s\n", loaded.ok() ? "the text file is empty or absent" : loaded.status().message().c_str());
    return 1;
  }
  const Tokenizer& tokenizer = *loaded->tokenizer;
  const auto ids = tokenizer.Encode(text);
  if (!ids.ok() || tokenizer.Decode(*ids) != text) {
    std::fprintf(stderr, "%s\n", ids.ok() ? "the text does not come back" : ids.status().message().c_str());
    return 1;
  }
  benchmark::RegisterBenchmark("BM_Encode", [&](benchmark::State& state) {
    BM_Encode(state, tokenizer, text);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("BM_Load", [&](benchmark::State& state) {
    BM_Load(state, path);
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace prenorm

int main(int argc, char** argv) { return prenorm::Run(argc, argv); }
