// Times operators for an observer. Without one it costs a branch.
#pragma once

#include <time.h>

#include <cstdint>

#include "prenorm/profile.h"

namespace prenorm {

inline uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// Times one thread's operators.
class OpTimer {
 public:
  OpTimer(OpObserver* observer, int thread) : observer_(observer), thread_(thread) {}

  /// Runs op() as an operator of `kind` at `site` of `layer`.
  template <typename Op>
  void Time(OpKind kind, OpSite site, int layer, const Op& op) {
#ifdef PRENORM_NO_EVENTS
    return op();
#endif
    if (observer_ == nullptr) [[likely]] {
      op();
      return;
    }
    const uint64_t begin = MonotonicNs();
    op();
    observer_->Record({kind, site, layer, thread_, begin, MonotonicNs()});
  }

 private:
  OpObserver* observer_;
  int thread_;
};

}  // namespace prenorm
