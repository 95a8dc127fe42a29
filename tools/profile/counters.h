// Hardware counters of this process and its threads, where the system permits them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tools/profile/report.h"

namespace prenorm::tools {

/// Counts cycles, instructions and cache misses in user mode. Made before the engine's threads, which inherit it.
class Counters {
 public:
  /// `open` false: counts nothing and says nothing.
  explicit Counters(bool open);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// Why nothing is counted; empty where something is.
  const std::string& reason() const { return reason_; }
  void Start();
  /// What was counted since Start, divided by `tokens`; counters that were never scheduled are left out.
  std::vector<CounterValue> Stop(size_t tokens);

 private:
  struct Reading {
    unsigned long long value = 0, enabled = 0, running = 0;
  };
  static constexpr size_t kCount = 4;
  Reading Read(size_t i) const;

  std::array<int, kCount> files_;
  std::array<Reading, kCount> begin_{};
  std::string reason_;
};

}  // namespace prenorm::tools
