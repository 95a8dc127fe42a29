// Times operators for an observer. Without one it costs two branches that are predicted.
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
    // One copy of op for both cases: a second one would be compiled for size, and be out of the caches when it is needed.
    const uint64_t begin = observer_ == nullptr ? 0 : MonotonicNs();
    op();
    if (observer_ != nullptr) [[unlikely]]
      observer_->Record({kind, site, layer, thread_, begin, MonotonicNs()});
  }

 private:
  OpObserver* observer_;
  int thread_;
};

}  // namespace prenorm
