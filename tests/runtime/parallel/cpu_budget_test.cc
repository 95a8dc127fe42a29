// Quotas and topology read from a made-up /proc and /sys.
#include "runtime/parallel/cpu_budget.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "prenorm/session.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

// A folder that stands for the root of a file system.
class FakeRoot {
 public:
  FakeRoot() : path_(fs::temp_directory_path() / ("prenorm_root_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~FakeRoot() { fs::remove_all(path_); }
  void Write(const std::string& name, const std::string& text) const {
    const fs::path file = path_.string() + name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(CpuBudgetTest, ReadsCpuMax) {
  EXPECT_EQ(ParseCpuMax("50000 100000\n"), 0.5);
  EXPECT_EQ(ParseCpuMax("150000 100000"), 1.5);
  for (const char* text : {"max 100000\n", "", "50000", "-1 100000", "50000 0", "x y"})
    EXPECT_FALSE(ParseCpuMax(text)) << text;
}

TEST(CpuBudgetTest, TakesTheTightestQuotaOfAllAncestors) {
  FakeRoot root;
  root.Write("/proc/self/cgroup", "0::/a/b\n");
  root.Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  root.Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  root.Write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(ReadCpuBudget(root.path()).quota, 1.5);
}

TEST(CpuBudgetTest, ReadsVersion1Quotas) {
  FakeRoot root;
  root.Write("/proc/self/cgroup", "3:cpu,cpuacct:/box\n1:memory:/box\n");
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(ReadCpuBudget(root.path()).quota, 0.5);
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(ReadCpuBudget(root.path()).quota.has_value());
}

TEST(CpuBudgetTest, CountsHyperthreadsOfACoreOnce) {
  FakeRoot root;
  const int processors = ReadCpuBudget().affinity;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    if (cpu >= processors * 64) break;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.Write(folder + "physical_package_id", "0\n");
    root.Write(folder + "core_id", "0\n");
  }
  EXPECT_EQ(ReadCpuBudget(root.path()).physical_cores, 1);
}

TEST(CpuBudgetTest, WithoutAnyFileOnlyTheAffinityCounts) {
  const CpuBudget budget = ReadCpuBudget("/nowhere");
  EXPECT_GE(budget.affinity, 1);
  EXPECT_FALSE(budget.quota.has_value());
  EXPECT_FALSE(budget.physical_cores.has_value());
}

TEST(CpuBudgetTest, DefaultThreadsFollowTheAffinityMask) {  // R12
  cpu_set_t old_mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(old_mask), &old_mask), 0);
  int first = 0;
  while (!CPU_ISSET(first, &old_mask)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const ThreadPlan plan = DefaultThreads();
  ASSERT_EQ(sched_setaffinity(0, sizeof(old_mask), &old_mask), 0);
  EXPECT_EQ(plan.threads, 1);
  EXPECT_EQ(plan.reason, "1 of 1: affinity mask");
}

}  // namespace
}  // namespace prenorm
