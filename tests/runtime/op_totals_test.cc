// Sums of operator times by kind, site and layer.
#include "prenorm/op_totals.h"

#include <gtest/gtest.h>

#include <thread>

namespace prenorm {
namespace {

TEST(OpTotalsTest, AddsUpByKindSiteAndLayerOverTheThreads) {
  OpTotals totals(2, 3);
  EXPECT_EQ(totals.threads(), 2);
  EXPECT_TRUE(totals.Rows().empty());
  totals.Record({OpKind::kNorm, OpSite::kAttnNorm, 2, 0, 100, 150});
  totals.Record({OpKind::kNorm, OpSite::kAttnNorm, 2, 0, 200, 207});
  totals.Record({OpKind::kNorm, OpSite::kAttnNorm, 2, 1, 100, 101});
  totals.Record({OpKind::kNorm, OpSite::kAttnNorm, 0, 1, 0, 10});
  totals.Record({OpKind::kNorm, OpSite::kFinalNorm, -1, 0, 0, 1000});
  totals.Record({OpKind::kIdle, OpSite::kStep, -1, 1, 5, 6});
  const std::vector<OpRow> rows = totals.Rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].layer, 0) << "layers ascend, what belongs to none comes last";
  EXPECT_EQ(rows[1].layer, 2);
  EXPECT_EQ(rows[1].kind, OpKind::kNorm);
  EXPECT_EQ(rows[1].site, OpSite::kAttnNorm);
  EXPECT_EQ(rows[1].calls, 3u);
  EXPECT_EQ(rows[1].most_calls, 2u);
  EXPECT_EQ(rows[1].ns, 58u);
  EXPECT_EQ(rows[2].layer, -1);
  EXPECT_EQ(rows[3].layer, -1);
  EXPECT_EQ(totals.NsOf(OpKind::kNorm), 1068u);
  EXPECT_EQ(totals.NsOf(OpKind::kIdle), 1u);
  EXPECT_EQ(totals.NsOf(OpKind::kAttention), 0u);
  totals.Clear();
  EXPECT_TRUE(totals.Rows().empty());
}

TEST(OpTotalsTest, ThreadsRecordAtOnce) {
  constexpr int kThreads = 4, kEvents = 1000;
  OpTotals totals(kThreads, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEvents; ++i) totals.Record({OpKind::kNorm, OpSite::kAttnNorm, 0, t, 0, 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(totals.NsOf(OpKind::kNorm), 2u * kThreads * kEvents);
  EXPECT_EQ(totals.Rows().at(0).most_calls, size_t{kEvents});
}

}  // namespace
}  // namespace prenorm
