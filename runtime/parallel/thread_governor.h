// How many threads of a team the next short step should use while other processes compete for its processors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace prenorm {

/// Watches the times of steps that cost about the same, and halves the threads where that is measured to be faster.
///
/// A thread that loses its processor keeps the others of the team waiting at the next barrier, for a time slice of the
/// competitor; a hundred barriers a token can cost ten times the token. Fewer threads wait less. On a quiet machine all
/// threads are always used and nothing is tried out. Results of a step do not depend on the number of its threads.
class ThreadGovernor {
 public:
  explicit ThreadGovernor(int threads) : all_(threads), now_(threads) {}

  /// For the next step: all threads, or half of them, a quarter, ..., one.
  int threads() const { return now_; }

  /// Tells how long a step with threads() took, and whether the kernel took a processor away from this process
  /// meanwhile: the sign of competitors that were there from the first step on.
  void Record(uint64_t ns, bool preempted);

 private:
  /// Steps of which a trial consists. The first one wakes threads up and is not counted.
  static constexpr int kTrialSteps = 3;
  /// A full step this much slower than the fastest of late is called disturbed. So is this share of steps with
  /// preemption: a competitor preempts every few milliseconds, the kernel's own threads a few times a second.
  static constexpr double kDisturbed = 1.6, kPreempted = 0.5;
  /// Steps until another number is tried again, doubled after each trial that changed nothing.
  static constexpr int kFirstPause = 8, kLastPause = 128;

  void StartTrial(int threads);
  void EndTrial();

  int all_;
  int now_;
  double fastest_ = 0.0;    // ns of a step with all threads, forgotten slowly
  double average_ = 0.0;    // ns of a step with the number in use, of the last few
  double preempted_ = 0.0;  // share of steps with preemption, of the last few
  int usual_ = 0;           // What is used but for a trial; 0 outside of one
  int trial_steps_ = 0;
  double trial_sum_ = 0.0;
  int pause_ = kFirstPause;
  int until_trial_ = kFirstPause;
  bool tries_up_ = false;
  bool tries_one_ = false;
};

}  // namespace prenorm
