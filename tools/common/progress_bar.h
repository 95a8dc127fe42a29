// Progress of long work: a bar with rate and time left.
#pragma once

#include <cstdint>
#include <string>

namespace prenorm::tools {

/// Shown on a terminal only, and only once the work has taken a second (or PRENORM_PROGRESS_DELAY seconds). Cleared
/// when the object ends.
class ProgressBar {
 public:
  /// `what` stands before the bar; the rate is `total` units a second, e.g. ("scoring", 40, "windows").
  /// "B" as the unit prints bytes as sizes. `begin`: the share that was done before.
  ProgressBar(std::string what, double total, std::string unit, double begin = 0);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `share` done, 0 to 1.
  void Update(double share);

 private:
  std::string what_;
  double total_;
  std::string unit_;
  double begin_;
  uint64_t begin_ns_;
  uint64_t patience_ns_;
  uint64_t shown_ns_ = 0;  // When the bar was last drawn; 0 before.
};

}  // namespace prenorm::tools
