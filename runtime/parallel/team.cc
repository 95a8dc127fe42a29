// Region, barrier and static split of the engine's threads.
#include "runtime/parallel/team.h"

#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifndef PRENORM_STD_THREADS
#include <omp.h>
#endif

#include "runtime/parallel/cpu_budget.h"

namespace prenorm {
namespace {

// 20 to 60 us on the hosts measured, more than a stage of a token usually waits. What follows decides about speed
// beside busy competitors. A thread that sleeps in the kernel is preferred when it wakes up; one that yields, or has
// spun away its time slice, comes back a slice of the competitor later, a hundred times a token. Two threads and four
// competitors on two processors, stages of 45 us, in "tokens" a second: 35 with this, 24 with 1 ms, 2 with 5 ms or with
// yields in between (which std::atomic::wait does).
constexpr int kSpinPauses = 1000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#ifdef __linux__

// Sleeps unless `word` has another value than `value` by now.
void Sleep(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void WakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr,
          nullptr, 0);
}

#else

void Sleep(std::atomic<uint32_t>& word, uint32_t value) { word.wait(value); }
void WakeAll(std::atomic<uint32_t>& word) { word.notify_all(); }

#endif

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
    // In one order with the two accesses of a sleeper below: either it is seen here, or it sees the new generation.
    generation_.store(generation + 1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) WakeAll(generation_);
    return;
  }
  for (int i = 0; i < spin_pauses_; ++i) {
    if (generation_.load(std::memory_order_acquire) != generation) return;
    Pause();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (generation_.load(std::memory_order_seq_cst) == generation) Sleep(generation_, generation);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

Status CheckThreadsStart(int threads) {
  std::mutex all_started;
  std::vector<std::jthread> started;
  started.reserve(static_cast<size_t>(std::max(threads, 0)));
  const std::lock_guard<std::mutex> hold(all_started);  // Released before the threads are joined.
  try {
    for (int i = 0; i < threads; ++i) {
      started.emplace_back([&all_started] { const std::lock_guard<std::mutex> wait(all_started); });
    }
  } catch (const std::system_error&) {
    return Status(StatusCode::kOutOfMemory, "the system grants " + std::to_string(started.size()) + " of " +
                                                std::to_string(threads) +
                                                " more threads\nuse fewer threads, or raise the limits of the process");
  }
  return Status();
}

Team::Team(int threads) : threads_(threads), barrier_(threads <= AvailableProcessors() ? kSpinPauses : 0) {}

void Team::RunOnNewThreads(int threads, const std::function<void(Worker&)>& work) {
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back([&, thread] {
      Worker worker(thread, threads, barrier_);
      work(worker);
    });
  }
  Worker worker(0, threads, barrier_);
  work(worker);
}

#ifdef PRENORM_STD_THREADS

void Team::Run(int threads, const std::function<void(Worker&)>& work) { RunOnNewThreads(threads, work); }

#else

void Team::Run(int threads, const std::function<void(Worker&)>& work) {
  // The OpenMP runtime does not survive a fork: in the child a region would wait for ever for threads of the parent.
  static std::atomic<pid_t> first_user{0};
  pid_t user = 0;
  const pid_t self = getpid();
  if (!first_user.compare_exchange_strong(user, self) && user != self) return RunOnNewThreads(threads, work);
#pragma omp parallel num_threads(threads)
  {
    Worker worker(omp_get_thread_num(), omp_get_num_threads(), barrier_);
    work(worker);
  }
}

#endif

}  // namespace prenorm
