// Times operators that do nothing, by the engine's own timer.
#include <algorithm>
#include <array>

#include "prenorm/profile.h"
#include "runtime/model/op_timer.h"

namespace prenorm {
namespace {

constexpr int kEvents = 2000;
constexpr int kPasses = 9;

// Keeps the last duration; the virtual call and the store are what a real observer costs at least.
class LastDuration : public OpObserver {
 public:
  void Record(const OpEvent& event) override { sum_ns += event.end_ns - event.begin_ns; }
  uint64_t sum_ns = 0;
};

// An operator that the compiler cannot leave out.
void Nothing() { asm volatile("" ::: "memory"); }

// Nanoseconds an event.
double Pass(OpObserver* observer) {
  OpTimer timer(observer, 0);
  const uint64_t begin = MonotonicNs();
  for (int i = 0; i < kEvents; ++i) timer.Time(OpKind::kNorm, OpSite::kAttnNorm, i, Nothing);
  return static_cast<double>(MonotonicNs() - begin) / kEvents;
}

}  // namespace

TimerCost MeasureTimerCost() {
  std::array<double, kPasses> inside{}, whole{}, off{};
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto i = static_cast<size_t>(pass);
    LastDuration durations;
    whole[i] = Pass(&durations);
    inside[i] = static_cast<double>(durations.sum_ns) / kEvents;
    off[i] = Pass(nullptr);
  }
  const auto median = [](std::array<double, kPasses>& values) {
    std::sort(values.begin(), values.end());
    return values[kPasses / 2];
  };
  TimerCost cost;
  cost.inside_ns = median(inside);
  cost.whole_ns = std::max(cost.inside_ns, median(whole));
  cost.off_ns = median(off);
  return cost;
}

}  // namespace prenorm
