// Each function looks at one thing and makes one finding of it.
#include "prenorm/doctor.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

#include "prenorm/session.h"
#include "prenorm/target.h"
#include "runtime/parallel/cgroup.h"
#include "runtime/parallel/cpu_budget.h"
#include "runtime/parallel/memory_budget.h"

namespace prenorm {
namespace {

constexpr auto kOk = FindingLevel::kOk;
constexpr auto kNote = FindingLevel::kNote;
constexpr auto kWarning = FindingLevel::kWarning;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string Gigabytes(uint64_t bytes) { return Number(static_cast<double>(bytes) * 1e-9) + " GB"; }

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// First word of a file, without the newline; empty if there is no such file.
std::string WordIn(const std::string& path) {
  std::istringstream text(ReadSystemFile(path).value_or(""));
  std::string word;
  text >> word;
  return word;
}

// What stands behind "key : " in /proc/cpuinfo, of the first processor.
std::string CpuInfo(const std::string& root, std::string_view key) {
  std::istringstream lines(ReadSystemFile(root + "/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

Finding Cpu(const std::string& root) {
  const std::string name = CpuInfo(root, "model name"), flags = " " + CpuInfo(root, "flags") + " ";
  const std::string cpu = name.empty() ? "unknown processor" : name;
  if (flags.size() > 2 && flags.find(" avx2 ") == std::string::npos) {
    return {"cpu", kWarning, cpu + ": has no AVX2",
            "In a virtual machine, give the guest the processor model of the host."};
  }
  return {"cpu", kOk, cpu, ""};
}

Finding SimdTarget() {
  const std::vector<std::string> runnable = RunnableTargets();
  const std::string active = ActiveTarget();
  const std::string text =
      active + " is chosen; compiled: " + Joined(CompiledTargets()) + "; this processor runs: " + Joined(runnable);
  if (!runnable.empty() && runnable.front() != active) {
    return {"simd_target", kWarning, text,
            "Do not force a target: unset PRENORM_TARGET. The best one here is " + runnable.front() + "."};
  }
  return {"simd_target", kOk, text, ""};
}

// Processors in a list such as "0-3,8".
int CountOfList(const std::string& list) {
  int count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (read >= 1) count += read == 2 ? std::max(0, last - first) + 1 : 1;
  }
  return count;
}

Finding Affinity(const std::string& root, const CpuBudget& budget) {
  const int online = CountOfList(WordIn(root + "/sys/devices/system/cpu/online"));
  std::string text = std::to_string(budget.affinity) + " of " + (online > 0 ? std::to_string(online) : "?") +
                     " processors may be used";
  if (budget.physical_cores) text += ", " + std::to_string(*budget.physical_cores) + " physical cores among them";
  if (budget.affinity < online) {
    return {"affinity", kWarning, text,
            "The affinity mask was narrowed, e.g. by taskset, a batch system or a container's cpuset."};
  }
  return {"affinity", kOk, text, ""};
}

Finding Quota(const CpuBudget& budget) {
  if (!budget.quota) return {"cpu_quota", kOk, "no CPU quota", ""};
  const std::string text = "a CPU quota of " + Number(*budget.quota) + " processors";
  if (*budget.quota >= budget.affinity) return {"cpu_quota", kOk, text, ""};
  if (*budget.quota < 1) {
    return {"cpu_quota", kWarning, text + ": even one thread is paused again and again",
            "Raise the quota, e.g. docker run --cpus, CPUQuota= of systemd, resources.limits.cpu of Kubernetes."};
  }
  return {"cpu_quota", kWarning, text + " on " + std::to_string(budget.affinity),
          "Leave --threads alone: more threads than the quota's whole processors are paused in the middle of a step."};
}

Finding Memory(const MemoryBudget& budget) {
  if (!budget.available) return {"memory", kNote, "free memory is unknown", ""};
  const std::string text = Gigabytes(*budget.available) + " of " + Gigabytes(budget.total.value_or(0)) + " are free";
  constexpr uint64_t kLittle = 1000000000;  // A small model of 0.5 billion weights with its cache.
  if (*budget.available < kLittle)
    return {"memory", kWarning, text, "Close other programs, or take a model that is small enough."};
  return {"memory", kOk, text, ""};
}

Finding MemoryLimit(const MemoryBudget& budget) {
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    return {"memory_limit", kWarning, "the address space is limited to " + Gigabytes(address_space.rlim_cur),
            "Mapped model files count as well: ulimit -v unlimited"};
  }
  if (!budget.limit) return {"memory_limit", kOk, "no memory limit", ""};
  const std::string text = "a control group limits memory to " + Gigabytes(*budget.limit) +
                           (budget.left ? ", of which " + Gigabytes(*budget.left) + " are left" : "");
  if (budget.left && *budget.left < budget.available.value_or(UINT64_MAX)) {
    return {"memory_limit", kWarning, text,
            "Raise it for larger models, e.g. docker run --memory, MemoryMax= of systemd."};
  }
  return {"memory_limit", kOk, text, ""};
}

Finding HugePages(const std::string& root) {
  const std::string text = ReadSystemFile(root + "/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return {"huge_pages", kNote, "this kernel has no transparent huge pages", ""};
  }
  const std::string mode = text.substr(open + 1, close - open - 1);
  if (mode == "never") {
    return {"huge_pages", kWarning, "transparent huge pages are off",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
  }
  return {"huge_pages", kOk, "transparent huge pages: " + mode, ""};
}

Finding Governor(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/cpu/cpu0/cpufreq/";
  const std::string governor = WordIn(folder + "scaling_governor"), driver = WordIn(folder + "scaling_driver");
  if (governor.empty()) return {"governor", kOk, "the kernel does not choose the frequency here", ""};
  const std::string text = "frequency governor: " + governor + (driver.empty() ? "" : " (" + driver + ")");
  const std::string hint =
      "For measurements: echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
  if (governor == "performance" || governor == "schedutil") return {"governor", kOk, text, ""};
  // These two drivers raise the frequency under load whatever the name says; others keep it at the lowest.
  const bool dynamic = driver == "intel_pstate" || driver.starts_with("amd-pstate") || driver.starts_with("amd_pstate");
  return {"governor", governor == "powersave" && !dynamic ? kWarning : kNote, text, hint};
}

// By files: two copies of one runtime, e.g. that of a Python package beside the system's, keep two sets of threads.
Finding OpenMpRuntimes(const std::string& root) {
  std::set<std::string> found;
  std::istringstream lines(ReadSystemFile(root + "/proc/self/maps").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos) continue;
    const std::string_view file = std::string_view(line).substr(line.rfind('/') + 1);
    for (const std::string_view name : {"libgomp", "libomp", "libiomp5"}) {
      if (file.starts_with(name) && file.substr(name.size()).find(".so") != file.npos) found.insert(line.substr(path));
    }
  }
  const std::string paths = Joined({found.begin(), found.end()});
  if (found.size() > 1) {
    return {"openmp_runtimes", kWarning, "several OpenMP runtimes in one process: " + paths,
            "Their threads compete for the processors. Build all parts with one compiler, or preload one runtime."};
  }
  return {"openmp_runtimes", kOk, found.empty() ? "no shared OpenMP runtime" : "one OpenMP runtime: " + paths, ""};
}

Finding OpenMpEnvironment(int threads) {
  const char* limit = std::getenv("OMP_THREAD_LIMIT");
  const std::string_view text = limit == nullptr ? "" : limit;
  int value = 0;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  if (is_number && value < threads) {
    return {"openmp_environment", kWarning,
            "OMP_THREAD_LIMIT allows " + std::to_string(value) + " of " + std::to_string(threads) + " threads",
            "unset OMP_THREAD_LIMIT"};
  }
  return {"openmp_environment", kOk, "no variable limits the threads", ""};
}

Finding Load(const std::string& root, int processors) {
  double load = 0;
  if (std::sscanf(ReadSystemFile(root + "/proc/loadavg").value_or("").c_str(), "%lf", &load) != 1) {
    return {"load", kNote, "the load is unknown", ""};
  }
  const std::string text =
      "load of the last minute: " + Number(load) + " on " + std::to_string(processors) + " processors";
  // The engine's own threads count as well, so only more work than processors means that others compete.
  if (load > processors + 0.5)
    return {"load", kWarning, text, "Other programs are running: see top. Threads wait for each other then."};
  return {"load", kOk, text, ""};
}

}  // namespace

const char* FindingLevelName(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return "ok";
    case FindingLevel::kNote:
      return "note";
    case FindingLevel::kWarning:
      return "warning";
  }
  return "unknown";
}

std::vector<Finding> Diagnose(const std::string& root) {
  const CpuBudget cpus = ReadCpuBudget(root);
  const MemoryBudget memory = ReadMemoryBudget(root);
  return {Cpu(root),
          SimdTarget(),
          Affinity(root, cpus),
          Quota(cpus),
          Memory(memory),
          MemoryLimit(memory),
          HugePages(root),
          Governor(root),
          OpenMpRuntimes(root),
          OpenMpEnvironment(DefaultThreads().threads),
          Load(root, cpus.affinity)};
}

}  // namespace prenorm
