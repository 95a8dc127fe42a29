// Draws at most ten times a second.
#include "tools/common/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tools/common/measure.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

// PRENORM_PROGRESS_DELAY: seconds before a bar is shown, 1 if it is not set.
uint64_t PatienceNs() {
  const char* seconds = std::getenv("PRENORM_PROGRESS_DELAY");
  char* end = nullptr;
  const double value = seconds == nullptr ? 1.0 : std::strtod(seconds, &end);
  const bool valid = std::isfinite(value) && (seconds == nullptr || end != seconds);
  return static_cast<uint64_t>(std::clamp(valid ? value : 1.0, 0.0, 1e6) * 1e9);
}

constexpr uint64_t kRedrawNs = 100000000;
constexpr size_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string what, double total, std::string unit, double begin)
    : what_(std::move(what)),
      total_(total),
      unit_(std::move(unit)),
      begin_(begin),
      begin_ns_(NowNs()),
      patience_ns_(PatienceNs()) {}

ProgressBar::~ProgressBar() {
  if (shown_ns_ != 0) Progress("");
}

void ProgressBar::Update(double share) {
  const uint64_t now = NowNs();
  if (now - begin_ns_ < patience_ns_ || now - shown_ns_ < kRedrawNs) return;
  shown_ns_ = now;
  share = std::clamp(share, 0.0, 1.0);
  const double seconds = static_cast<double>(now - begin_ns_) * 1e-9;
  const double done = std::max(share - begin_, 0.0);
  const double rate = total_ * done / seconds;
  char rate_text[64];
  if (unit_ == "B") {
    std::snprintf(rate_text, sizeof rate_text, "%s/s", SizeText(static_cast<uint64_t>(rate)).c_str());
  } else {
    std::snprintf(rate_text, sizeof rate_text, "%.1f %s/s", rate, unit_.c_str());
  }
  const long left = done > 0 ? static_cast<long>(seconds * (1.0 - share) / done + 0.5) : 0;
  const auto full = static_cast<size_t>(share * kWidth);
  char text[256];
  std::snprintf(text, sizeof text, "%s [%s%s] %3.0f %%  %s  %ld:%02ld left", what_.c_str(),
                std::string(full, '#').c_str(), std::string(kWidth - full, '-').c_str(), share * 100, rate_text,
                left / 60, left % 60);
  Progress(text);
}

}  // namespace prenorm::tools
