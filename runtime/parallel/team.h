// The engine's threads: one parallel region a forward step, and inside it a barrier of our own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "prenorm/status.h"

namespace prenorm {

/// Half-open range of indices.
struct Range {
  size_t begin;
  size_t end;
  size_t size() const { return end - begin; }
};

/// Part `part` of `parts` of [0, count), in whole multiples of `multiple` but for the last; parts
/// differ by one multiple.
Range SplitEvenly(size_t count, size_t multiple, size_t part, size_t parts);

/// Sense-reversing barrier. Waiters spin for a moment (if every thread has a processor), then sleep in the kernel; they
/// never yield.
class Barrier {
 public:
  /// `spin_pauses` 0: never spin, for teams that are larger than the processors they may use.
  explicit Barrier(int spin_pauses) : spin_pauses_(spin_pauses) {}
  /// Returns when `threads` threads have arrived; what they wrote before is visible to all afterwards.
  void Arrive(int threads);

 private:
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  const int spin_pauses_;
};

/// What a thread of a region knows of itself.
class Worker {
 public:
  Worker(int thread, int threads, Barrier& barrier) : thread_(thread), threads_(threads), barrier_(&barrier) {}
  int thread() const { return thread_; }
  int threads() const { return threads_; }
  /// Waits for all threads of the region.
  void Wait() {
    if (threads_ > 1) barrier_->Arrive(threads_);
  }
  /// This thread's part of [0, count).
  Range Share(size_t count, size_t multiple = 1) const {
    return SplitEvenly(count, multiple, static_cast<size_t>(thread_), static_cast<size_t>(threads_));
  }

 private:
  int thread_;
  int threads_;
  Barrier* barrier_;
};

/// Whether the system grants `threads` threads beside the caller's, all at once. Asked before an OpenMP region, since
/// that runtime ends the process where it cannot have its threads. kOutOfMemory otherwise.
Status CheckThreadsStart(int threads);

/// Runs functions on a fixed number of threads. Used by one thread at a time.
/// Threads come from the OpenMP runtime, whose pool is shared with oneDNN. They are new std::threads under
/// ThreadSanitizer, which does not understand that runtime (PRENORM_STD_THREADS), and in a child process made by fork()
/// after a first Run, where that runtime no longer works.
class Team {
 public:
  explicit Team(int threads);
  int threads() const { return threads_; }
  /// Calls work(worker) on every thread and returns when all are done. Fewer threads may take part than asked for,
  /// inside a host's own parallel region only one: work must split itself by worker.threads().
  void Run(const std::function<void(Worker&)>& work) { Run(threads_, work); }
  /// The same on the first `threads` of the threads only.
  void Run(int threads, const std::function<void(Worker&)>& work);

 private:
  void RunOnNewThreads(int threads, const std::function<void(Worker&)>& work);
  int threads_;
  Barrier barrier_;
};

}  // namespace prenorm
