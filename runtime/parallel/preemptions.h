// How often the kernel took processors away from this process.
#pragma once

#include <sys/resource.h>

namespace prenorm {

/// Involuntary context switches of all threads so far; 0 where the system does not count them.
inline long Preemptions() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace prenorm
