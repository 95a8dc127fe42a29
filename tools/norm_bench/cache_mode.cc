// Walks over memory that put operands into, or out of, the caches.
#include "tools/norm_bench/cache_mode.h"

#include <omp.h>
#include <sched.h>

#include <memory>
#include <vector>

#include "prenorm/types.h"

namespace prenorm::tools {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kEvict = size_t{16} << 20;  // Several times the L2 of any core so far.
constexpr size_t kMatvecCols = 1024;

void Touch(const void* p, size_t bytes) {
  const volatile char* at = static_cast<const volatile char*>(p);
  for (size_t i = 0; i < bytes; i += kLine) static_cast<void>(at[i]);
}

// Writes the values that are there already.
void Rewrite(void* p, size_t bytes) {
  volatile char* at = static_cast<volatile char*>(p);
  for (size_t i = 0; i < bytes; i += kLine) at[i] = at[i];
}

struct Matvec {
  Matvec(void* x, bool x_bf16, size_t elements, size_t all_threads)
      : out(x),
        out_bf16(x_bf16),
        rows(elements),
        threads(all_threads),
        weights(rows * kMatvecCols),
        input(kMatvecCols, 1.0f) {
    uint32_t state = 1;
    for (float& w : weights) {
      state = state * 1664525u + 1013904223u;
      w = (static_cast<float>(state >> 8) * 0x1p-24f - 0.5f) * 0.1f;
    }
  }

  void Run() const {
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static)
    for (size_t r = 0; r < rows; ++r) {
      float sums[16] = {};
      const float* row = &weights[r * kMatvecCols];
      for (size_t i = 0; i < kMatvecCols; i += 16) {
        for (size_t k = 0; k < 16; ++k) sums[k] += row[i + k] * input[i + k];
      }
      float sum = 0.0f;
      for (float s : sums) sum += s;
      if (out_bf16) {
        static_cast<prenorm::bf16*>(out)[r] = ToBf16(sum);
      } else {
        static_cast<float*>(out)[r] = sum;
      }
    }
  }

  void* out;
  bool out_bf16;
  size_t rows, threads;
  std::vector<float> weights, input;
};

}  // namespace

void PinThreads(size_t threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  if (cpus.size() < threads) return;
#pragma omp parallel num_threads(static_cast<int>(threads))
  {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[static_cast<size_t>(omp_get_thread_num())], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

std::function<void()> CachePreparation(const NormCase& c, const Operands& operands, size_t all_threads) {
  const prenorm_peer_case view = operands.view;
  const size_t row_bytes = c.rows * c.cols * (c.bf16 ? 2 : 4);
  const size_t affine_bytes = (c.channels == 0 ? c.cols : c.channels) * 4;
  void* x = const_cast<void*>(view.x);  // The operands are not const, only the view of them that peers get.
  const auto warm = [view, row_bytes] {
    Touch(view.x, row_bytes);
    Touch(view.out, row_bytes);
  };
  switch (c.cache) {
    case CacheMode::kHot:
      return nullptr;
    case CacheMode::kColdGain: {
      auto evict = std::make_shared<PageBuffer>(kEvict);
      return [evict, warm] {
        Touch(evict->data(), kEvict);
        warm();
      };
    }
    case CacheMode::kStream: {
      auto evict = std::make_shared<PageBuffer>(kEvict);
      return [evict] { Touch(evict->data(), kEvict); };
    }
    case CacheMode::kDirtyX:
      return [view, x, row_bytes, affine_bytes, all_threads] {
        Touch(view.gain, affine_bytes);
        // The whole team: one that shrank would grow again by threads that inherit this one's processor.
#pragma omp parallel num_threads(static_cast<int>(std::max<size_t>(2, all_threads)))
        if (omp_get_thread_num() == 1) Rewrite(x, row_bytes);
      };
    case CacheMode::kAfterMatvec: {
      auto matvec = std::make_shared<Matvec>(x, c.bf16, c.rows * c.cols, all_threads);
      return [matvec] { matvec->Run(); };
    }
  }
  return nullptr;
}

}  // namespace prenorm::tools
