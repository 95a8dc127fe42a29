// Each finding with its fault planted: in a made-up /proc and /sys, in the environment, in the limits of the process.
#include "prenorm/doctor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "prenorm/target.h"
#include "runtime/parallel/cpu_budget.h"
#include "runtime/parallel/memory_budget.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class DoctorTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::path(testing::TempDir()) /
             (std::string("doctor ") + testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string();
    fs::remove_all(root_);
    unsetenv("OMP_THREAD_LIMIT");  // That tests under the thread sanitizer run with.
    // A machine without a fault: one that has as many processors as the mask of this process.
    Write("/proc/cpuinfo", "processor : 0\nmodel name : Test CPU\nflags\t\t: fpu avx avx2 fma\n");
    Write("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   8000000 kB\n");
    Write("/proc/loadavg", "0.10 0.20 0.30 1/100 1234\n");
    Write("/proc/self/maps",
          "1-2 r-xp 0 fe:00 1 /usr/lib/libgomp.so.1.0.0\n1-2 r--p 0 fe:00 1 /usr/lib/libgomp.so.1.0.0\n");
    Write("/proc/self/cgroup", "0::/box\n");
    Write("/sys/devices/system/cpu/online", "0\n");
    Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    const fs::path file = root_ + name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Finding Find(const std::string& id) const {
    const std::vector<Finding> findings = Diagnose(root_);
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
    return found == findings.end() ? Finding{"no such finding", FindingLevel::kOk, "", ""} : *found;
  }

  void ExpectWarning(const std::string& id, const std::string& part) const {
    const Finding finding = Find(id);
    EXPECT_EQ(finding.id, id);
    EXPECT_EQ(finding.level, FindingLevel::kWarning) << finding.text;
    EXPECT_NE(finding.text.find(part), std::string::npos) << finding.text;
    EXPECT_NE(finding.hint, "");
  }
  void ExpectNote(const std::string& id, const std::string& part) const {
    const Finding finding = Find(id);
    EXPECT_EQ(finding.level, FindingLevel::kNote) << finding.text;
    EXPECT_NE(finding.text.find(part), std::string::npos) << finding.text;
  }
  void ExpectOk(const std::string& id, const std::string& part) const {
    const Finding finding = Find(id);
    EXPECT_EQ(finding.level, FindingLevel::kOk) << finding.text;
    EXPECT_NE(finding.text.find(part), std::string::npos) << finding.text;
    EXPECT_EQ(finding.hint, "");
  }

  std::string root_;
};

TEST_F(DoctorTest, AMachineWithoutAFaultGetsNoHint) {
  for (const Finding& finding : Diagnose(root_)) {
    EXPECT_EQ(finding.level, FindingLevel::kOk) << finding.id << ": " << finding.text;
    EXPECT_EQ(finding.hint, "") << finding.id;
    EXPECT_NE(finding.text, "") << finding.id;
  }
}

TEST_F(DoctorTest, KnowsThisMachineAndNeedsNoFiles) {
  EXPECT_EQ(Diagnose().size(), 11u);
  EXPECT_EQ(Diagnose(root_ + "/nowhere").size(), 11u);
}

TEST_F(DoctorTest, Processor) {
  ExpectOk("cpu", "Test CPU");
  Write("/proc/cpuinfo", "model name : Old CPU\nflags : fpu sse2\n");
  ExpectWarning("cpu", "Old CPU: has no AVX2");
  Write("/proc/cpuinfo", "processor : 0\n");
  ExpectOk("cpu", "unknown processor");
}

TEST_F(DoctorTest, SimdTarget) {
  ExpectOk("simd_target", RunnableTargets().front() + " is chosen");
  if (RunnableTargets().size() < 2) GTEST_SKIP() << "this processor runs one target only";
  const std::string worst = RunnableTargets().back();
  ASSERT_TRUE(ForceTarget(worst).ok());
  ExpectWarning("simd_target", worst + " is chosen");
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST_F(DoctorTest, AffinityMask) {
  Write("/sys/devices/system/cpu/online", "0-4000,4002\n");
  ExpectWarning("affinity", " of 4002 processors");
}

TEST_F(DoctorTest, CpuQuota) {
  ExpectOk("cpu_quota", "no CPU quota");
  Write("/sys/fs/cgroup/box/cpu.max", "50000 100000\n");
  ExpectWarning("cpu_quota", "0.5 processors: even one thread is paused");
  if (ReadCpuBudget(root_).affinity > 1) {
    Write("/sys/fs/cgroup/box/cpu.max", "150000 100000\n");
    ExpectWarning("cpu_quota", "a CPU quota of 1.5 processors on ");
  }
  Write("/sys/fs/cgroup/box/cpu.max", "900000000 100000\n");
  ExpectOk("cpu_quota", "9000");
}

TEST_F(DoctorTest, Memory) {
  ExpectOk("memory", "8.192 GB of 16.38 GB");
  Write("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 100000 kB\n");
  ExpectWarning("memory", "0.1024 GB");
  Write("/proc/meminfo", "MemTotal: 16000000 kB\n");
  ExpectNote("memory", "unknown");
}

TEST_F(DoctorTest, MemoryLimitOfACgroup) {
  ExpectOk("memory_limit", "no memory limit");
  Write("/sys/fs/cgroup/memory.max", "2000000000\n");
  Write("/sys/fs/cgroup/memory.current", "900000000\n");
  Write("/sys/fs/cgroup/memory.stat", "anon 500000000\nfile 400000000\nkernel 0\n");
  ExpectWarning("memory_limit", "2 GB, of which 1.5 GB are left");
  EXPECT_EQ(ReadMemoryBudget(root_).left, 1500000000u);
  Write("/sys/fs/cgroup/memory.max", "15000000000\n");  // More is left than the machine has free.
  ExpectOk("memory_limit", "15 GB, of which 14.5 GB are left");
  Write("/sys/fs/cgroup/memory.max", "max\n");
  ExpectOk("memory_limit", "no memory limit");

  Write("/proc/self/cgroup", "5:cpu:/\n4:memory:/inner\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "1000000000\n");
  Write("/sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "300000000\n");
  Write("/sys/fs/cgroup/memory/inner/memory.stat", "cache 1\ntotal_cache 100000000\n");
  ExpectWarning("memory_limit", "1 GB, of which 0.8 GB are left");
}

TEST_F(DoctorTest, LimitOfTheAddressSpace) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit already";
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 47;  // Enough for sanitizers.
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  ExpectWarning("memory_limit", "address space");
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST_F(DoctorTest, HugePages) {
  ExpectOk("huge_pages", "madvise");
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  ExpectWarning("huge_pages", "off");
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "] never [\n");
  ExpectNote("huge_pages", "no transparent huge pages");
}

TEST_F(DoctorTest, Governor) {
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  ExpectOk("governor", "performance");
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
  ExpectWarning("governor", "powersave (acpi-cpufreq)");
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
  ExpectNote("governor", "powersave (intel_pstate)");
  for (const char* driver : {"amd-pstate-epp", "amd_pstate_epp"}) {
    Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver);
    ExpectNote("governor", driver);
  }
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n");
  ExpectNote("governor", "ondemand");
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
  ExpectOk("governor", "schedutil");
}

TEST_F(DoctorTest, TwoOpenMpRuntimes) {
  ExpectOk("openmp_runtimes", "libgomp.so.1");
  Write("/proc/self/maps",
        "1-2 r-xp 0 fe:00 1 /usr/lib/libgomp.so.1.0.0\n1-2 r-xp 0 fe:00 1 /opt/x/libomp-14.so.5\n1-2 rw-p 0 0 0 \n");
  ExpectWarning("openmp_runtimes", "/opt/x/libomp-14.so.5, /usr/lib/libgomp.so.1.0.0");
  Write("/proc/self/maps",
        "1-2 r-xp 0 fe:00 1 /usr/lib/libgomp.so.1.0.0\n3-4 rw-p 0 fe:00 1 /usr/lib/libgomp.so.1.0.0\n"
        "5-6 r-xp 0 fe:00 1 /opt/a package/libgomp-a34b.so.1\n");
  ExpectWarning("openmp_runtimes", "/opt/a package/libgomp-a34b.so.1, /usr/lib/libgomp.so.1.0.0");
  Write("/proc/self/maps", "1-2 r-xp 0 fe:00 1 /opt/libiomp5.so\n1-2 r-xp 0 fe:00 1 /usr/lib/libgomp.so.1\n");
  ExpectWarning("openmp_runtimes", "/opt/libiomp5.so, /usr/lib/libgomp.so.1");
  Write("/proc/self/maps", "1-2 r-xp 0 fe:00 1 /usr/lib/libgompertz.txt\n");
  ExpectOk("openmp_runtimes", "no shared OpenMP runtime");
}

TEST_F(DoctorTest, OpenMpEnvironment) {
  ASSERT_EQ(setenv("OMP_THREAD_LIMIT", "0", 1), 0);
  ExpectWarning("openmp_environment", "OMP_THREAD_LIMIT");
  for (const char* harmless : {"100000", "many", ""}) {
    ASSERT_EQ(setenv("OMP_THREAD_LIMIT", harmless, 1), 0);
    ExpectOk("openmp_environment", "no variable");
  }
  unsetenv("OMP_THREAD_LIMIT");
  ExpectOk("openmp_environment", "no variable");
}

TEST_F(DoctorTest, Load) {
  Write("/proc/loadavg", "5000.25 1 1 1/100 1\n");
  ExpectWarning("load", "5000");
  Write("/proc/loadavg", "busy\n");
  ExpectNote("load", "unknown");
}

}  // namespace
}  // namespace prenorm
