// Split, barrier and region.
#include "runtime/parallel/team.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <vector>

namespace prenorm {
namespace {

TEST(SplitEvenlyTest, PartsCoverEverythingInWholeMultiples) {
  for (size_t count : {0u, 1u, 7u, 16u, 100u, 577u}) {
    for (size_t multiple : {1u, 8u, 16u}) {
      for (size_t parts : {1u, 2u, 3u, 8u}) {
        size_t next = 0;
        for (size_t part = 0; part < parts; ++part) {
          const Range range = SplitEvenly(count, multiple, part, parts);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(range.begin % multiple == 0 || range.begin == count);
          EXPECT_LE(range.size(), (count / multiple + 1) / parts * multiple + 2 * multiple);
          next = range.end;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(TeamTest, BarrierKeepsPhasesApartWithMoreThreadsThanProcessors) {  // R13
  for (int threads : {1, 2, 3, 8}) {
    Team team(threads);
    constexpr int kPhases = 500;
    std::vector<std::atomic<int>> arrived(kPhases);
    std::atomic<int> early{0};
    team.Run([&](Worker& worker) {
      for (int phase = 0; phase < kPhases; ++phase) {
        arrived[static_cast<size_t>(phase)].fetch_add(1, std::memory_order_relaxed);
        worker.Wait();
        if (arrived[static_cast<size_t>(phase)].load(std::memory_order_relaxed) != worker.threads()) early.fetch_add(1);
      }
    });
    EXPECT_EQ(early.load(), 0) << threads << " threads";
  }
}

#ifndef PRENORM_STD_THREADS
TEST(TeamTest, WorksInsideAHostsOwnParallelRegion) {
  std::atomic<int> regions{0};
#pragma omp parallel num_threads(2)
  {
    Team team(4);
    std::atomic<size_t> covered{0};
    team.Run([&](Worker& worker) {
      covered.fetch_add(worker.Share(100).size());
      worker.Wait();
    });
    if (covered.load() == 100) regions.fetch_add(1);
  }
  EXPECT_EQ(regions.load(), 2);
}
#endif

}  // namespace
}  // namespace prenorm
