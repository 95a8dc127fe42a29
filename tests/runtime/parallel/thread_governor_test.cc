// The number of threads under made-up step times.
#include "runtime/parallel/thread_governor.h"

#include <gtest/gtest.h>

#include <functional>

namespace prenorm {
namespace {

// Drives `steps` steps whose time is a function of the threads; returns the share of them that used `threads`.
double ShareOfSteps(ThreadGovernor& governor, int steps, int threads, const std::function<uint64_t(int)>& time,
                    bool preempted = false) {
  int hits = 0;
  for (int i = 0; i < steps; ++i) {
    hits += governor.threads() == threads;
    governor.Record(time(governor.threads()), preempted);
  }
  return static_cast<double>(hits) / steps;
}

uint64_t Quiet(int threads) { return 8'000'000u / static_cast<unsigned>(threads); }
// One processor is shared with a competitor: teams wait for its time slices.
uint64_t Beside(int threads) { return threads == 1 ? 9'000'000u : 60'000'000u; }

TEST(ThreadGovernorTest, AQuietMachineUsesAllThreadsAlways) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadGovernor governor(threads);
    EXPECT_EQ(ShareOfSteps(governor, 2000, threads, Quiet), 1.0);
  }
}

TEST(ThreadGovernorTest, GrowingContextsAreNoDisturbance) {
  ThreadGovernor governor(2);
  uint64_t position = 0;
  EXPECT_EQ(ShareOfSteps(governor, 8000, 2, [&](int threads) { return Quiet(threads) + 1000 * position++; }), 1.0);
}

TEST(ThreadGovernorTest, BesideACompetitorOneThreadIsFoundAndKept) {
  for (const int threads : {2, 8}) {
    ThreadGovernor governor(threads);
    ShareOfSteps(governor, 100, threads, Quiet);
    ShareOfSteps(governor, 60, 1, Beside);
    EXPECT_GT(ShareOfSteps(governor, 1000, 1, Beside), 0.9) << threads;
    EXPECT_LT(governor.threads(), threads);
  }
}

TEST(ThreadGovernorTest, CompetitorsFromTheFirstStepOnAreSeenByTheirPreemptions) {
  ThreadGovernor seen(2), unseen(2);
  EXPECT_GT(ShareOfSteps(seen, 1000, 1, Beside, /*preempted=*/true), 0.9);
  EXPECT_EQ(ShareOfSteps(unseen, 1000, 2, Beside, /*preempted=*/false), 1.0);
}

TEST(ThreadGovernorTest, RarePreemptionsAreNoDisturbance) {
  ThreadGovernor governor(2);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(ShareOfSteps(governor, 1, 2, Quiet, /*preempted=*/true), 1.0);
    EXPECT_EQ(ShareOfSteps(governor, 9, 2, Quiet), 1.0);
  }
}

TEST(ThreadGovernorTest, AllThreadsReturnWithQuiet) {
  for (const int threads : {2, 8}) {
    ThreadGovernor governor(threads);
    ShareOfSteps(governor, 100, threads, Quiet);
    ShareOfSteps(governor, 1000, 1, Beside);
    ShareOfSteps(governor, 600, threads, Quiet);
    EXPECT_EQ(ShareOfSteps(governor, 500, threads, Quiet), 1.0) << threads;
  }
}

TEST(ThreadGovernorTest, WhereFewerThreadsAreNoFasterAllStay) {
  ThreadGovernor governor(2);
  ShareOfSteps(governor, 100, 2, Quiet);
  // Everything became slower by the same factor, as at a lower clock rate: trials get rare.
  EXPECT_GT(ShareOfSteps(governor, 2000, 2, [](int threads) { return 3 * Quiet(threads); }), 0.95);
}

}  // namespace
}  // namespace prenorm
