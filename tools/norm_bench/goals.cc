// One line a goal: its cases, what they are compared with, how many times as fast they must be.
#include "tools/norm_bench/goals.h"

#include <algorithm>
#include <functional>

namespace prenorm::tools {
namespace {

using Matches = std::function<bool(const NormCase&)>;

struct Goal {
  const char* id;
  const char* text;
  double wanted;
  Matches matches;
  std::vector<const char*> peers;  // The fastest of these counts.
};

Matches Rms(size_t rows, CacheMode cache, bool many_threads) {
  return [=](const NormCase& c) {
    return c.op == PRENORM_PEER_RMS_NORM && !c.bf16 && c.rows == rows && c.cols == 4096 && c.cache == cache &&
           (c.threads > 1) == many_threads;
  };
}

Matches Op(prenorm_peer_op op, size_t rows) {
  return [=](const NormCase& c) { return c.op == op && c.rows == rows && !c.bf16; };
}

std::vector<Goal> Goals() {
  const CacheMode hot = CacheMode::kHot;
  const auto heads = [](const NormCase& c) { return c.op == PRENORM_PEER_RMS_NORM && c.rows == 32 && c.cols <= 128; };
  const auto layer = Op(PRENORM_PEER_LAYER_NORM, 512);
  return {
      {"M1", "RMSNorm 1 x 4096, hot, over oneDNN", 2.0, Rms(1, hot, false), {"onednn"}},
      {"M1", "RMSNorm 1 x 4096, hot, over ggml", 10.0, Rms(1, hot, false), {"ggml"}},
      {"M1", "RMSNorm 1 x 4096, hot, over torch", 25.0, Rms(1, hot, false), {"torch"}},
      {"M1", "RMSNorm 1 x 4096, hot, over its loads and stores", 1 / 1.4, Rms(1, hot, false), {"loads"}},
      {"M2", "RMSNorm 1 x 4096, hot, all threads, over oneDNN", 5.0, Rms(1, hot, true), {"onednn"}},
      {"M3", "RMSNorm 1 x 4096 after a matvec, over oneDNN", 3.0, Rms(1, CacheMode::kAfterMatvec, true), {"onednn"}},
      {"M3", "RMSNorm 1 x 4096 after a matvec, over ggml", 5.0, Rms(1, CacheMode::kAfterMatvec, true), {"ggml"}},
      {"M4", "32 heads of 64 and 128, over oneDNN", 4.0, heads, {"onednn"}},
      {"M4", "32 heads of 64 and 128, over ggml", 4.0, heads, {"ggml"}},
      {"M5", "RMSNorm 4096 x 4096, 1 thread, over a copy", 0.9, Rms(4096, CacheMode::kStream, false), {"copy"}},
      {"M5", "RMSNorm 4096 x 4096, all threads, over a copy", 0.9, Rms(4096, CacheMode::kStream, true), {"copy"}},
      {"M5", "residual + RMSNorm, over oneDNN add and norm", 1.5, Op(PRENORM_PEER_RESIDUAL_RMS_NORM, 4096), {"onednn"}},
      {"M6", "LayerNorm 512 rows of 768, 1024, 4096, over torch", 1.8, layer, {"torch"}},
      {"M6", "LayerNorm 512 rows of 768, 1024, 4096, over oneDNN", 1.2, layer, {"onednn"}},
      {"M7", "GroupNorm, InstanceNorm, over the faster peer", 1.5, Op(PRENORM_PEER_GROUP_NORM, 1), {"torch", "onednn"}},
      {"M7", "BatchNorm training, over torch", 1.4, Op(PRENORM_PEER_BATCH_NORM_TRAIN, 32), {"torch"}},
      {"M8",
       "RMSNorm backward, over torch's LayerNorm backward",
       1.3,
       Op(PRENORM_PEER_RMS_NORM_BACKWARD, 512),
       {"torch"}},
      {"M8", "LayerNorm backward, over torch", 1.3, Op(PRENORM_PEER_LAYER_NORM_BACKWARD, 512), {"torch"}},
  };
}

// bf16 against our own f32, thread count by thread count.
void AddBf16Goal(const std::vector<CaseResult>& results, std::vector<GoalResult>* goals) {
  GoalResult goal{"M5", "RMSNorm 4096 x 4096 in bf16, over our f32", 1.8, 0.0, false};
  for (const CaseResult& wide : results) {
    for (const CaseResult& narrow : results) {
      if (wide.which.op != PRENORM_PEER_RMS_NORM || wide.which.rows != 4096 || wide.which.cols != 4096 ||
          wide.which.bf16 || !narrow.which.bf16 || narrow.which.op != wide.which.op ||
          narrow.which.rows != wide.which.rows || narrow.which.cols != wide.which.cols ||
          narrow.which.threads != wide.which.threads) {
        continue;
      }
      const double ratio = wide.ns.median / narrow.ns.median;
      goal.measured = goal.measured == 0.0 ? ratio : std::min(goal.measured, ratio);
    }
  }
  goal.holds = goal.measured >= goal.wanted;
  if (goal.measured != 0.0) goals->push_back(goal);
}

}  // namespace

std::vector<GoalResult> GoalResults(const std::vector<CaseResult>& results) {
  std::vector<GoalResult> goals;
  for (const Goal& goal : Goals()) {
    double worst = 0.0;
    for (const CaseResult& result : results) {
      if (!goal.matches(result.which)) continue;
      double fastest = 0.0;
      for (const char* peer : goal.peers) {
        const auto found = result.ratios.find(peer);
        if (found != result.ratios.end()) fastest = fastest == 0.0 ? found->second : std::min(fastest, found->second);
      }
      if (fastest != 0.0) worst = worst == 0.0 ? fastest : std::min(worst, fastest);
    }
    if (worst != 0.0) goals.push_back({goal.id, goal.text, goal.wanted, worst, worst >= goal.wanted});
  }
  AddBf16Goal(results, &goals);
  std::stable_sort(goals.begin(), goals.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return goals;
}

}  // namespace prenorm::tools
