// Reads affinity, core topology and cgroup quotas (v2 and v1), and makes a thread count of them.
#include "runtime/parallel/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "prenorm/session.h"

namespace prenorm {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(processors));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; fits && cpu < processors; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) list.push_back(cpu);
    }
    CPU_FREE(set);
    if (fits) break;
  }
  if (list.empty()) list.push_back(0);
  return list;
}

// Path of this process in the hierarchy that has `controller` ("" for v2), e.g. "/user.slice/x"; absent if not listed.
std::optional<std::string> CgroupPath(const std::string& root, std::string_view controller) {
  const std::optional<std::string> text = ReadFile(root + "/proc/self/cgroup");
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {  // hierarchy-id:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + std::string(controller) + ",") != std::string::npos) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<double> QuotaOfV1(const std::string& folder) {
  const auto quota_text = ReadFile(folder + "/cpu.cfs_quota_us");
  const auto period_text = ReadFile(folder + "/cpu.cfs_period_us");
  if (!quota_text || !period_text) return std::nullopt;
  const auto quota = ParseNumber(*quota_text), period = ParseNumber(*period_text);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// The tightest quota from the process's own group up to the mount point: every ancestor binds.
template <typename QuotaOf>
std::optional<double> TightestQuota(const std::string& mount, std::string path, QuotaOf quota_of) {
  std::optional<double> tightest;
  while (true) {
    const std::optional<double> quota = quota_of(mount + (path == "/" ? "" : path));
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
    if (path.empty() || path == "/") return tightest;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

std::optional<double> ReadQuota(const std::string& root) {
  std::optional<double> tightest;
  const auto consider = [&](std::optional<double> quota) {
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  };
  if (const auto path = CgroupPath(root, "")) {
    consider(TightestQuota(root + "/sys/fs/cgroup", *path, [](const std::string& folder) -> std::optional<double> {
      const auto text = ReadFile(folder + "/cpu.max");
      return text ? ParseCpuMax(*text) : std::nullopt;
    }));
  }
  if (const auto path = CgroupPath(root, "cpu")) consider(TightestQuota(root + "/sys/fs/cgroup/cpu", *path, QuotaOfV1));
  return tightest;
}

std::optional<int> CountPhysicalCores(const std::string& root, const std::vector<int>& cpus) {
  std::set<std::pair<std::string, std::string>> cores;
  for (const int cpu : cpus) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto package = ReadFile(folder + "physical_package_id"), core = ReadFile(folder + "core_id");
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
