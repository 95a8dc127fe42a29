// How much memory this process may use: what the machine has free, what its control groups leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace prenorm {

/// Bytes. Unknown parts and limits that do not exist are absent.
struct MemoryBudget {
  std::optional<uint64_t> total;      ///< Of the machine.
  std::optional<uint64_t> available;  ///< What the machine can give without swapping.
  std::optional<uint64_t> limit;      ///< The tightest limit of a control group.
  std::optional<uint64_t> left;       ///< What the control groups still leave; cached files count as free.
};

/// Reads the budget of this process. `root` is prefixed to /proc and /sys paths (tests).
MemoryBudget ReadMemoryBudget(const std::string& root = "");

}  // namespace prenorm
