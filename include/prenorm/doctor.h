// What on this machine keeps models from running as fast as they could, and what can be done about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prenorm {

enum class FindingLevel {
  kOk,       ///< As it should be.
  kNote,     ///< Worth knowing; costs little or cannot be told.
  kWarning,  ///< Costs speed, or will keep models from loading.
};

/// "ok", "note", "warning".
const char* FindingLevelName(FindingLevel level);

struct Finding {
  std::string id;  ///< Stable, e.g. "cpu_quota".
  FindingLevel level = FindingLevel::kOk;
  std::string text;  ///< One sentence: what was found, with numbers.
  std::string hint;  ///< What to do, possibly a command; empty where there is nothing to do.
};

/// Looks at processor, SIMD target, affinity mask, CPU quota, memory and its limits, huge pages, frequency governor,
/// OpenMP runtimes in this process, OpenMP's environment and load. One finding each, always in this order. `root` is
/// prefixed to all paths of /proc and /sys. Reads files only; changes nothing. Thread-safe.
std::vector<Finding> Diagnose(const std::string& root = "");

/// Bytes that this process can still use: what the machine has free, or what its control groups leave; UINT64_MAX if
/// unknown. Thread-safe.
uint64_t AvailableMemory();

}  // namespace prenorm
