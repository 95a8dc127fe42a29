// Norms of a profile by turns: what a comparison of ways is, a step without norms, all variants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/session_helpers.h"
#include "tests/support/short_phases.h"
#include "tests/support/tiny_model.h"
#include "tools/profile/replayed_norm.h"
#include "tools/profile/turns.h"
#include "tools/profile/variants.h"

namespace prenorm::tools {
namespace {

TEST(TurnsTest, MedianOfDifferencesWithItsInterval) {
  std::vector<double> a, b;
  for (int i = 0; i < 101; ++i) {
    a.push_back(1000 + i * 10);               // A drift that both have.
    b.push_back(1000 + i * 10 - 30 + i % 3);  // a - b is 30, 29 or 28.
  }
  const Turns turns = Compare(a, b);
  EXPECT_EQ(turns.difference_ns, 29);
  EXPECT_GE(turns.low_ns, 28);
  EXPECT_LE(turns.high_ns, 30);
  EXPECT_EQ(turns.pairs, 101u);
  const Turns one = Compare({5}, {3});
  EXPECT_EQ(one.low_ns, 2);
  EXPECT_EQ(one.high_ns, 2);
  EXPECT_EQ(RoundsWithin(1, 1e6, 5, 100), 100u);
  EXPECT_EQ(RoundsWithin(1, 1e8, 5, 100), 10u);
  EXPECT_EQ(RoundsWithin(1, 1e10, 5, 100), 5u);
}

TEST(TurnsTest, EveryWayRunsInEveryRoundAndTheSessionStaysWhereItWas) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const auto session = MakeSession(model);
  ASSERT_TRUE(session->Eval(SomeTokens(6, *model)).ok());
  OpTotals totals(session->threads(), model->config().n_layers);
  const Way ways[] = {{&totals, nullptr}, {}, {}};
  const TokenId token = 7;
  Result<std::vector<std::vector<double>>> times = TakeTurns(*session, {&token, 1}, ways, 4);
  ASSERT_TRUE(times.ok()) << times.status().message();
  ASSERT_EQ(times->size(), 3u);
  for (const std::vector<double>& way : *times) EXPECT_EQ(way.size(), 4u);
  EXPECT_EQ(session->position(), 6u);
  uint64_t norms = 0;
  for (const OpRow& row : totals.Rows())
    norms += row.site == OpSite::kFinalNorm && row.kind == OpKind::kNorm ? row.calls : 0;
  // Four rounds and the one that warms up; on one thread at least, for the machine may be busy, and
  // in two parts at most.
  EXPECT_GE(norms, 5u);
  EXPECT_LE(norms, 2u * 5u * static_cast<uint64_t>(session->threads()));
}

TEST(ReplayedNormTest, AStepWithoutNormsComputesWithTheResultsOfTheFirst) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const std::vector<TokenId> first = {1}, other = {2};
  for (const int threads : {1, 2}) {
    SessionOptions session_options;
    session_options.threads = threads;
    const auto session = MakeSession(model, session_options);
    const std::vector<float> others = AllLogits(*session, other);
    ReplayedNorm replayed(threads);
    const NormExperiment experiment{NormPlacement::kRedundant, &replayed}, redundant{NormPlacement::kRedundant};
    const auto logits = [&](const NormExperiment& norms, const std::vector<TokenId>& token) {
      EXPECT_TRUE(session->Rewind(0).ok());
      session->set_norm_experiment(&norms);
      return AllLogits(*session, token);
    };
    const std::vector<float> expected = logits(redundant, first);
    EXPECT_FALSE(SameBytes(others, expected));
    EXPECT_TRUE(SameBytes(logits(experiment, first), expected)) << "the first step, whose norms are computed";
    EXPECT_TRUE(SameBytes(logits(experiment, first), expected));
    EXPECT_TRUE(SameBytes(logits(experiment, other), expected)) << "the final norm's result was not the first step's";
  }
}

TEST(ProfileVariantsTest, ComparesNormsAndAnswersWhatIf) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const auto session = MakeSession(model);
  Counters counters(/*open=*/false);
  ProfileReport report;
  PhaseOptions phases = ShortPhases(*model);
  report.phases = MeasurePhases(*session, phases, {}, {}, counters).value();
  VariantOptions options;
  options.text = SomeTokens(6, *model);
  options.token = 5;
  options.runs = 1;
  for (const char* what : WhatIfNames()) {
    const Status status = AnswerWhatIf(*session, what, options, &report.phases.back(), report);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GE(report.what_if.back().turns.pairs, 5u);
  }
  EXPECT_GT(report.what_if[0].bound_ns, 0);
  const Status status = CompareNorms(*session, options, report);
  ASSERT_TRUE(status.ok()) << status.message();
  std::map<std::string, VariantRow> rows;
  for (const VariantRow& row : report.variants) rows[row.id] = row;
  for (const char* same : {"apart", "stage", "redundant", "engine"}) {
    ASSERT_TRUE(rows.count(same) == 1 && rows[same].kl.has_value()) << same;
    EXPECT_LT(*rows[same].kl, 1e-6) << same;
  }
  EXPECT_LT(*rows["redundant"].kl, *rows["bf16"].kl + 1e-12);
  EXPECT_LT(*rows["bf16"].kl, *rows["layernorm_two_pass"].kl);
  EXPECT_LT(std::abs(*rows["layernorm_two_pass"].kl - *rows["layernorm_single_pass"].kl), 1e-4);
  EXPECT_FALSE(rows["folded"].kl.has_value());
  EXPECT_EQ(report.claims.size(), 4u);
}

}  // namespace
}  // namespace prenorm::tools
