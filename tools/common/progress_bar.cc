// Draws at most ten times a second.
#include "tools/common/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// " [###---]" as long as a line leaves room for beside so many others; nothing where that is little.
std::string Bar(double share, size_t others) {
  constexpr size_t kLeast = 5, kMost = 30;
  const size_t line = ProgressWidth();
  const size_t width = std::min(kMost, line - std::min(line, others + 3));
  if (width < kLeast) return "";
  const auto full = static_cast<size_t>(share * static_cast<double>(width));
  return " [" + std::string(full, '#') + std::string(width - full, '-') + "]";
}

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
  const long left = done > 0 ? std::lround(seconds * (1.0 - share) / done) : 0;
  char figures[128];
  std::snprintf(figures, sizeof figures, "%3.0f %%  %s  %ld:%02ld left", share * 100, rate_text, left / 60, left % 60);
  Progress(what_ + Bar(share, what_.size() + 1 + std::strlen(figures)) + " " + figures);
}

}  // namespace prenorm::tools
