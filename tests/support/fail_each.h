// One allocation after the other fails: every run says so, holds nothing back, and the next one succeeds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>

#include "tests/support/failing_malloc.h"

namespace prenorm {

/// How a run ended. Taken right behind its last call, before what it made is freed.
struct FaultOutcome {
  FaultOutcome(bool all_well, bool reported, std::string_view message)
      : ok(all_well), out_of_memory(reported), met(FailingMalloc::Failed()) {
    std::snprintf(said, sizeof(said), "%.*s", static_cast<int>(message.size()), message.data());
  }
  bool ok;
  bool out_of_memory;  // Or a file that could not be opened for the same reason.
  bool met;            // The allocation that was to fail has been asked for.
  char said[256];
};

/// Fails each allocation of `run`, from the first on, until it runs through without meeting one. `forget` frees what
/// the caller holds of the last outcome, a message.
inline void FailEach(
    const std::function<FaultOutcome()>& run, const std::function<void()>& forget = [] {}) {
  const auto fail_one = [&](uint64_t n, int64_t& kept) {
    forget();
    const int64_t before = FailingMalloc::Held();
    FailingMalloc::FailAt(n);
    const FaultOutcome outcome = run();
    FailingMalloc::FailAt(0);
    forget();
    kept = FailingMalloc::Held() - before;
    return outcome;
  };
  for (int i = 0; i < 2; ++i) {  // What is made once and kept is made now.
    const FaultOutcome outcome = run();
    ASSERT_TRUE(outcome.ok) << outcome.said;
  }
  unsigned tried = 0, reported = 0;
  for (uint64_t n = 1;; ++n) {
    int64_t kept = 0;
    FaultOutcome outcome = fail_one(n, kept);
    if (!outcome.met) break;
    // A pool of another library may have grown by one block; a leak grows each time.
    if (kept != 0) outcome = fail_one(n, kept);
    ASSERT_EQ(kept, 0) << "allocation " << n << ": " << outcome.said;
    // Some allocations have a second way, in the C library for one: then all is well.
    ASSERT_TRUE(outcome.ok || outcome.out_of_memory) << "allocation " << n << ": " << outcome.said;
    ++tried;
    reported += !outcome.ok;
  }
  const FaultOutcome outcome = run();
  ASSERT_TRUE(outcome.ok) << outcome.said;
  EXPECT_GE(reported * 10, tried * 8);
  std::printf("%u allocations failed, %u reported\n", tried, reported);
}

}  // namespace prenorm
