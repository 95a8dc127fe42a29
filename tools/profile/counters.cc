// One file a counter: inherited counters cannot be read as a group on older kernels.
#include "tools/profile/counters.h"

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstring>

namespace prenorm::tools {

#ifdef __linux__
namespace {

struct Event {
  const char* name;
  unsigned long long config;
};
constexpr Event kEvents[] = {
    {"cycles", PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_references", PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
};

int Open(const Event& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = event.config;
  attr.inherit = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attr, /*pid=*/0, /*cpu=*/-1, /*group=*/-1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Counters::Counters(bool open) {
  files_.fill(-1);
  int error = 0;
  for (size_t i = 0; open && i < kCount; ++i) {
    files_[i] = Open(kEvents[i]);
    if (files_[i] < 0) error = errno;
  }
  for (const int file : files_) open = open && file < 0;
  if (!open) return;
  const bool permission = error == EACCES || error == EPERM;
  reason_ = permission ? "not permitted (see /proc/sys/kernel/perf_event_paranoid)"
                       : std::string("this machine offers none: ") + std::strerror(error);
}

Counters::~Counters() {
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

Counters::Reading Counters::Read(size_t i) const {
  Reading reading;
  if (files_[i] < 0 || read(files_[i], &reading, sizeof reading) != sizeof reading) return {};
  return reading;
}

void Counters::Start() {
  for (size_t i = 0; i < kCount; ++i) begin_[i] = Read(i);
}

std::vector<CounterValue> Counters::Stop(size_t tokens) {
  std::vector<CounterValue> values;
  for (size_t i = 0; i < kCount; ++i) {
    const Reading end = Read(i);
    const auto running = static_cast<double>(end.running - begin_[i].running);
    if (files_[i] < 0 || running <= 0) continue;
    // A counter that shared its hardware with others ran for a part of the time.
    const double scale = static_cast<double>(end.enabled - begin_[i].enabled) / running;
    values.push_back(
        {kEvents[i].name, static_cast<double>(end.value - begin_[i].value) * scale / static_cast<double>(tokens)});
  }
  return values;
}

#else

Counters::Counters(bool open) {
  files_.fill(-1);
  if (open) reason_ = "not supported on this system";
}
Counters::~Counters() = default;
Counters::Reading Counters::Read(size_t) const { return {}; }
void Counters::Start() {}
std::vector<CounterValue> Counters::Stop(size_t) { return {}; }

#endif

}  // namespace prenorm::tools
