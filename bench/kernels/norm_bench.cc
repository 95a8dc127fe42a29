// RMSNorm, LayerNorm, residual + RMSNorm and softmax over the shapes of bench/shapes/norm.txt, and two control loops.
//
// `Control/Norm` has the loads and stores of RMSNorm without its arithmetic, `Control/Copy` one load and one store.
// Every norm is compared with long double before it is timed, softmax is not. PRENORM_TARGET names a SIMD target to force.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/kernels/norm_control.h"
#include "prenorm/norm.h"
#include "prenorm/target.h"
#include "tests/reference/norm_reference.h"

namespace prenorm {
namespace {

struct Shape {
  size_t rows;
  size_t cols;
};

std::vector<Shape> ReadShapes(const char* path) {
  std::vector<Shape> shapes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Shape shape;
    if (std::sscanf(line.c_str(), "%zu %zu", &shape.rows, &shape.cols) == 2) shapes.push_back(shape);
  }
  return shapes;
}

template <typename T>
const char* Name() {
  return std::is_same_v<T, bf16> ? "bf16" : "f32";
}

template <typename T>
T From(float x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return ToBf16(x);
  } else {
    return x;
  }
}

template <typename T>
float To(T x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return ToF32(x);
  } else {
    return x;
  }
}

// Operands begin at a cache line, as a model's buffers do: loads that cross lines cost more than the kernel.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as the standard asks
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const CacheLineAllocator&) const { return true; }
};
template <typename T>
using Buffer = std::vector<T, CacheLineAllocator<T>>;

// Buffers of one case; allocated when the case runs, so that only one lives at a time.
template <typename X, typename Affine, typename Out>
struct Operands {
  explicit Operands(Shape s)
      : shape(s), x(s.rows * s.cols), f(s.rows * s.cols), sum(s.rows * s.cols), out(s.rows * s.cols), gain(s.cols),
        bias(s.cols) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = From<X>(normal(random));
      f[i] = From<X>(0.25f);
    }
    for (Affine& g : gain) g = From<Affine>(1.0f + 0.125f * normal(random));
    for (Affine& b : bias) b = From<Affine>(0.0f);
  }

  Shape shape;
  Buffer<X> x, f, sum;
  Buffer<Out> out;
  Buffer<Affine> gain, bias;
};

// Whether the last row of `out` is gain * unit within `tolerance`.
template <class Ops>
bool Agrees(const Ops& ops, const reference::Row& unit, double tolerance) {
  const size_t cols = ops.shape.cols;
  const size_t first = (ops.shape.rows - 1) * cols;
  for (size_t i = 0; i < cols; ++i) {
    const double expected = static_cast<double>(unit[i]) * To(ops.gain[i]);
    if (!(std::abs(To(ops.out[first + i]) - expected) <= tolerance * (1.0 + std::abs(expected)))) return false;
  }
  return true;
}

template <class Ops>
reference::Row LastRow(const Ops& ops, float shift = 0.0f) {
  reference::Row row;
  for (size_t i = ops.x.size() - ops.shape.cols; i < ops.x.size(); ++i) row.push_back(To(ops.x[i]) + shift);
  return row;
}

// Times `run`; `bytes` per element is the traffic that cannot be avoided.
void Measure(benchmark::State& state, Shape shape, size_t bytes, const std::function<void()>& run) {
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  const auto iterations = static_cast<double>(state.iterations());
  const auto elements = static_cast<double>(shape.rows * shape.cols);
  state.counters["row"] = benchmark::Counter(iterations * static_cast<double>(shape.rows),
                                             benchmark::Counter::kIsRate | benchmark::Counter::kInvert);  // seconds
  state.counters["GB/s"] = benchmark::Counter(iterations * elements * static_cast<double>(bytes) * 1e-9,
                                              benchmark::Counter::kIsRate);
}

using Case = std::function<void(benchmark::State&, Shape)>;

void Register(const std::string& name, Shape shape, const Case& body) {
  const std::string full = name + "/" + std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
  benchmark::RegisterBenchmark(full.c_str(), [body, shape](benchmark::State& state) { body(state, shape); });
}

template <typename X, typename Affine, typename Out>
void RegisterNorms(Shape shape) {
  const double tolerance = std::is_same_v<Out, bf16> ? 0x1p-8 : 1e-5;
  const std::string types = std::string("/") + Name<X>() + "," + Name<Affine>() + "," + Name<Out>();
  RmsNormOptions rms;
  rms.eps = 1e-5f;
  LayerNormOptions layer;
  layer.eps = 1e-5f;
  const auto rms_case = [=](benchmark::State& state, Shape s) {
    Operands<X, Affine, Out> ops(s);
    const auto run = [&] {
      RmsNorm(ops.x.data(), s.cols, ops.gain.data(), ops.out.data(), s.cols, s.rows, s.cols, rms);
    };
    run();
    if (!Agrees(ops, reference::RmsNorm(LastRow(ops), 1e-5L), tolerance)) return state.SkipWithError("wrong result");
    Measure(state, s, sizeof(X) + sizeof(Out), run);
  };
  Register("RmsNorm" + types, shape, rms_case);
  const auto layer_case = [=](benchmark::State& state, Shape s) {
    Operands<X, Affine, Out> ops(s);
    const auto run = [&] {
      LayerNorm(ops.x.data(), s.cols, ops.gain.data(), ops.bias.data(), ops.out.data(), s.cols, s.rows, s.cols, layer);
    };
    run();
    if (!Agrees(ops, reference::LayerNorm(LastRow(ops), 1e-5L), tolerance)) return state.SkipWithError("wrong result");
    Measure(state, s, sizeof(X) + sizeof(Out), run);
  };
  Register("LayerNorm" + types, shape, layer_case);
}

template <typename X, typename Affine, typename Out>
void RegisterResidual(Shape shape) {
  const double tolerance = std::is_same_v<X, bf16> ? 0x1p-5 : std::is_same_v<Out, bf16> ? 0x1p-8 : 1e-5;
  const std::string types = std::string("/") + Name<X>() + "," + Name<Affine>() + "," + Name<Out>();
  RmsNormOptions rms;
  rms.eps = 1e-5f;
  const auto residual_case = [=](benchmark::State& state, Shape s) {
    Operands<X, Affine, Out> ops(s);
    const auto run = [&] {
      ResidualRmsNorm(ops.x.data(), s.cols, ops.f.data(), s.cols, ops.sum.data(), s.cols, ops.gain.data(),
                      ops.out.data(), s.cols, s.rows, s.cols, Residual{}, rms);
    };
    run();
    if (!Agrees(ops, reference::RmsNorm(LastRow(ops, 0.25f), 1e-5L), tolerance)) {
      return state.SkipWithError("wrong result");
    }
    Measure(state, s, 3 * sizeof(X) + sizeof(Out), run);
  };
  Register("ResidualRmsNorm" + types, shape, residual_case);
}

void RegisterControls(Shape shape) {
  Register("Control/Norm", shape, [](benchmark::State& state, Shape s) {
    Operands<float, float, float> ops(s);
    Measure(state, s, 8, [&] {
      for (size_t r = 0; r < s.rows; ++r) {
        ControlNormRow(&ops.x[r * s.cols], ops.gain.data(), &ops.out[r * s.cols], s.cols);
      }
    });
  });
  Register("Control/Copy", shape, [](benchmark::State& state, Shape s) {
    Operands<float, float, float> ops(s);
    Measure(state, s, 8, [&] { ControlCopyRow(ops.x.data(), ops.out.data(), s.rows * s.cols); });
  });
  Register("Softmax", shape, [](benchmark::State& state, Shape s) {
    Operands<float, float, float> ops(s);
    Measure(state, s, 8, [&] { Softmax(ops.x.data(), s.cols, s.rows, s.cols); });
  });
}

int Main(int argc, char** argv) {
  if (const char* target = std::getenv("PRENORM_TARGET"); target != nullptr) {
    if (const Status status = ForceTarget(target); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  for (const Shape shape : ReadShapes(PRENORM_SHAPES_DIR "/norm.txt")) {
    RegisterControls(shape);
#define PRENORM_NORM(X, AFFINE, OUT) RegisterNorms<X, AFFINE, OUT>(shape);
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT) RegisterResidual<X, AFFINE, OUT>(shape);
#include "kernels/variants.inc"
  }
  benchmark::AddCustomContext("target", ActiveTarget());
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace prenorm

int main(int argc, char** argv) { return prenorm::Main(argc, argv); }
