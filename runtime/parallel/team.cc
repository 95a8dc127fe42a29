// Region, barrier and static split of the engine's threads.
#include "runtime/parallel/team.h"

#include <algorithm>

#ifdef PRENORM_STD_THREADS
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

#include "runtime/parallel/cpu_budget.h"

namespace prenorm {
namespace {

// About 1 ms on the hosts measured. Beside busy competitors a waiter that gives its processor away gets it back a time
// slice later: spinning longer made decode 1.3 times as fast as 40 us did there, and yielding never helped.
constexpr int kSpinPauses = 20000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Range SplitEvenly(size_t count, size_t multiple, size_t part, size_t parts) {
  const size_t units = (count + multiple - 1) / multiple;
  const size_t begin = units * part / parts * multiple;
  const size_t end = units * (part + 1) / parts * multiple;
  return {std::min(begin, count), std::min(end, count)};
}

void Barrier::Arrive(int threads) {
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  for (int i = 0; i < spin_pauses_; ++i) {
    if (generation_.load(std::memory_order_acquire) != generation) return;
    Pause();
  }
  generation_.wait(generation, std::memory_order_acquire);
}

Team::Team(int threads) : threads_(threads), barrier_(threads <= AvailableProcessors() ? kSpinPauses : 0) {}

#ifdef PRENORM_STD_THREADS

void Team::Run(const std::function<void(Worker&)>& work) {
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads_; ++thread) {
    others.emplace_back([&, thread] {
      Worker worker(thread, threads_, barrier_);
      work(worker);
    });
  }
  Worker worker(0, threads_, barrier_);
  work(worker);
}

#else

void Team::Run(const std::function<void(Worker&)>& work) {
#pragma omp parallel num_threads(threads_)
  {
    Worker worker(omp_get_thread_num(), omp_get_num_threads(), barrier_);
    work(worker);
  }
}

#endif

}  // namespace prenorm
