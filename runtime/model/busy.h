// One call at a time, for objects that are used by one thread at a time: a second call gets an error, not a lock.
#pragma once

#include <atomic>
#include <string>

#include "prenorm/status.h"

namespace prenorm {

class BusyScope {
 public:
  /// `what` is in use: "the session".
  BusyScope(std::atomic_flag& busy, const char* what)
      : busy_(busy), what_(what), entered_(!busy.test_and_set(std::memory_order_acquire)) {}
  ~BusyScope() {
    if (entered_) busy_.clear(std::memory_order_release);
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

  Status status() const {
    return entered_ ? Status() : Status(StatusCode::kBusy, std::string(what_) + " is in use by another thread");
  }

 private:
  std::atomic_flag& busy_;
  const char* what_;
  const bool entered_;
};

}  // namespace prenorm
