// How many processors this process may use: affinity mask, cgroup quota, physical cores.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prenorm {

/// What the machine and its owner grant. Unknown parts are absent.
struct CpuBudget {
  int affinity = 1;                   ///< Logical processors in the affinity mask.
  std::optional<int> physical_cores;  ///< Distinct cores among them.
  std::optional<double> quota;        ///< Processors' worth of time by the tightest cgroup quota above the process.
};

/// Reads the budget of this process. `root` is prefixed to /proc and /sys paths (tests).
CpuBudget ReadCpuBudget(const std::string& root = "");

/// Processors in the affinity mask, at least 1.
int AvailableProcessors();

/// The quota in a cgroup v2 `cpu.max` text ("50000 100000" is 0.5); absent for "max" or anything malformed.
std::optional<double> ParseCpuMax(std::string_view text);

}  // namespace prenorm
