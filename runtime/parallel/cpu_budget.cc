// Reads affinity, core topology and cgroup quotas (v2 and v1), and makes a thread count of them.
#include "runtime/parallel/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "prenorm/session.h"
#include "runtime/parallel/cgroup.h"

namespace prenorm {
namespace {

std::optional<double> ParseNumber(std::string_view text) {
  try {
    return std::stod(std::string(text));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<int> AffinityList() {
  std::vector<int> list;
  // The kernel refuses a mask that is smaller than its own: grow until it fits.
  for (int processors = 1024; processors <= (1 << 20); processors *= 4) {
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    std::vector<cpu_set_t> sets((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
    const bool fits = sched_getaffinity(0, bytes, sets.data()) == 0;
    for (int cpu = 0; fits && cpu < processors; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, sets.data())) list.push_back(cpu);
    }
    if (fits) break;
  }
  if (list.empty()) list.push_back(0);
  return list;
}

std::optional<double> QuotaOfV1(const std::string& folder) {
  const auto quota_text = ReadSystemFile(folder + "/cpu.cfs_quota_us");
  const auto period_text = ReadSystemFile(folder + "/cpu.cfs_period_us");
  if (!quota_text || !period_text) return std::nullopt;
  const auto quota = ParseNumber(*quota_text), period = ParseNumber(*period_text);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// The tightest quota of all groups that the process is in.
std::optional<double> ReadQuota(const std::string& root) {
  std::optional<double> tightest;
  const auto consider = [&](std::optional<double> quota) {
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  };
  if (const auto path = CgroupPath(root, "")) {
    VisitCgroupFolders(root + "/sys/fs/cgroup", *path, [&](const std::string& folder) {
      if (const auto text = ReadSystemFile(folder + "/cpu.max")) consider(ParseCpuMax(*text));
    });
  }
  if (const auto path = CgroupPath(root, "cpu")) {
    VisitCgroupFolders(root + "/sys/fs/cgroup/cpu", *path,
                       [&](const std::string& folder) { consider(QuotaOfV1(folder)); });
  }
  return tightest;
}

std::optional<int> CountPhysicalCores(const std::string& root, const std::vector<int>& cpus) {
  std::set<std::pair<std::string, std::string>> cores;
  for (const int cpu : cpus) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto package = ReadSystemFile(folder + "physical_package_id"), core = ReadSystemFile(folder + "core_id");
    if (!package || !core) return std::nullopt;
    cores.emplace(*package, *core);
  }
  return static_cast<int>(cores.size());
}

}  // namespace

std::optional<double> ParseCpuMax(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = ParseNumber(text.substr(0, space)), period = ParseNumber(text.substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

CpuBudget ReadCpuBudget(const std::string& root) {
  const std::vector<int> cpus = AffinityList();
  return {static_cast<int>(cpus.size()), CountPhysicalCores(root, cpus), ReadQuota(root)};
}

int AvailableProcessors() { return static_cast<int>(AffinityList().size()); }

ThreadPlan DefaultThreads() {
  const CpuBudget budget = ReadCpuBudget();
  ThreadPlan plan{budget.affinity, "affinity mask"};
  if (budget.physical_cores && *budget.physical_cores < plan.threads) {
    plan = {*budget.physical_cores, "physical cores"};
  }
  if (budget.quota && std::floor(*budget.quota) < plan.threads) {
    plan = {std::max(1, static_cast<int>(std::floor(*budget.quota))), "cgroup quota"};
  }
  plan.reason = std::to_string(plan.threads) + " of " + std::to_string(budget.affinity) + ": " + plan.reason;
  return plan;
}

}  // namespace prenorm
