// /proc/meminfo, and the memory files of control groups, versions 1 and 2.
#include "runtime/parallel/memory_budget.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "prenorm/doctor.h"
#include "runtime/parallel/cgroup.h"

namespace prenorm {
namespace {

std::optional<uint64_t> NumberAtStart(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? std::optional<uint64_t>(value) : std::nullopt;
}

// The number in a file; absent for "max".
std::optional<uint64_t> NumberIn(const std::string& path) {
  const std::optional<std::string> text = ReadSystemFile(path);
  return text ? NumberAtStart(*text) : std::nullopt;
}

// The number behind "key" at the start of a line.
std::optional<uint64_t> NumberOf(std::string_view key, const std::string& path) {
  const std::optional<std::string> text = ReadSystemFile(path);
  if (!text) return std::nullopt;
  const std::string with_newline = "\n" + *text, wanted = "\n" + std::string(key) + " ";
  const size_t at = with_newline.find(wanted);
  return at == std::string::npos ? std::nullopt
                                 : NumberAtStart(std::string_view(with_newline).substr(at + wanted.size()));
}

std::optional<uint64_t> KibOf(std::string_view key, const std::string& path) {
  const std::optional<uint64_t> kib = NumberOf(key, path);
  return kib ? std::optional<uint64_t>(*kib * 1024) : std::nullopt;
}

void Tighten(std::optional<uint64_t>& bound, uint64_t value) { bound = bound ? std::min(*bound, value) : value; }

void AddLimit(std::optional<uint64_t> limit, std::optional<uint64_t> used, std::optional<uint64_t> cached,
              MemoryBudget& budget) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // Version 1 writes about 2^63 where there is none.
  if (!limit || *limit >= kNoLimit) return;
  Tighten(budget.limit, *limit);
  if (!used) return;
  const uint64_t held = *used - std::min(*used, cached.value_or(0));
  Tighten(budget.left, *limit - std::min(*limit, held));
}

}  // namespace

MemoryBudget ReadMemoryBudget(const std::string& root) {
  MemoryBudget budget;
  budget.total = KibOf("MemTotal:", root + "/proc/meminfo");
  budget.available = KibOf("MemAvailable:", root + "/proc/meminfo");
  if (const auto path = CgroupPath(root, "")) {
    VisitCgroupFolders(root + "/sys/fs/cgroup", *path, [&](const std::string& folder) {
      AddLimit(NumberIn(folder + "/memory.max"), NumberIn(folder + "/memory.current"),
               NumberOf("file", folder + "/memory.stat"), budget);
    });
  }
  if (const auto path = CgroupPath(root, "memory")) {
    VisitCgroupFolders(root + "/sys/fs/cgroup/memory", *path, [&](const std::string& folder) {
      AddLimit(NumberIn(folder + "/memory.limit_in_bytes"), NumberIn(folder + "/memory.usage_in_bytes"),
               NumberOf("total_cache", folder + "/memory.stat"), budget);
    });
  }
  return budget;
}

uint64_t AvailableMemory() {
  const MemoryBudget budget = ReadMemoryBudget();
  return std::min(budget.available.value_or(UINT64_MAX), budget.left.value_or(UINT64_MAX));
}

}  // namespace prenorm
