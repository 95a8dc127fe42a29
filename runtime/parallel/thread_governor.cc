// Trials of fewer threads under disturbance, and of more threads once in a while afterwards.
#include "runtime/parallel/thread_governor.h"

#include <algorithm>

namespace prenorm {

void ThreadGovernor::StartTrial(int threads) {
  usual_ = now_;
  now_ = threads;
  trial_steps_ = 0;
  trial_sum_ = 0.0;
}

void ThreadGovernor::EndTrial() {
  const double trial = trial_sum_ / (kTrialSteps - 1);
  if (trial < 0.9 * average_) {
    average_ = trial;
    pause_ = kFirstPause;
  } else {
    now_ = usual_;
    pause_ = std::min(2 * pause_, kLastPause);
  }
  usual_ = 0;
  until_trial_ = pause_;
}

void ThreadGovernor::Record(uint64_t ns, bool preempted) {
  if (all_ == 1) return;
  const auto time = static_cast<double>(ns);
  if (usual_ != 0) {
    if (++trial_steps_ > 1) trial_sum_ += time;
    if (trial_steps_ == kTrialSteps) EndTrial();
    return;
  }
  average_ = average_ == 0.0 ? time : 0.75 * average_ + 0.25 * time;
  preempted_ = 0.75 * preempted_ + (preempted ? 0.25 : 0.0);
  if (now_ == all_) fastest_ = fastest_ == 0.0 ? time : std::min(time, 1.001 * fastest_);
  if (until_trial_ > 0) --until_trial_;
  if (until_trial_ > 0) return;
  const bool disturbed = average_ > kDisturbed * fastest_ || preempted_ > kPreempted;
  if (now_ == all_ && !disturbed) {
    pause_ = kFirstPause;  // Nothing to try; the next disturbance is met at once.
    return;
  }
  // Below all threads: up and down in turn, beginning with up, for the machine may be quiet again.
  tries_up_ = now_ != all_ && (!tries_up_ || now_ == 1);
  if (tries_up_) return StartTrial(std::min(2 * now_, all_));
  tries_one_ = !tries_one_;  // Where all threads but one wait, half of them wait as long.
  StartTrial(tries_one_ ? 1 : std::max(1, now_ / 2));
}

}  // namespace prenorm
