// Experiment "norm-time": what RMSNorm saves of LayerNorm's time, by itself and in a whole model.
#include <algorithm>
#include <cmath>

#include "tools/common/measure.h"
#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"
#include "tools/lab/random.h"
#include "tools/profile/stand_ins.h"
#include "tools/profile/turns.h"

namespace prenorm::tools {
namespace {

constexpr size_t kTurns = 31, kElements = 1u << 17;  // Normalized a turn.

// Nanoseconds of a row by one thread, both by turns.
std::vector<double> RowTimes(size_t cols, LabRandom& random) {
  // Apart by an odd number of cache lines: rows at one place of their pages would get into each other's way.
  const size_t apart = cols + 272;
  std::vector<float> rows = random.Normals(4 * apart, 0.0, 1.0);
  const float *x = rows.data(), *gain = x + apart, *bias = gain + apart;
  float* out = rows.data() + 3 * apart;
  std::vector<double> times[2];
  const size_t calls = std::max<size_t>(1, kElements / cols);
  for (size_t turn = 0; turn < kTurns; ++turn) {
    for (const size_t kind : {turn % 2, 1 - turn % 2}) {
      const uint64_t begin = NowNs();
      for (size_t i = 0; i < calls; ++i) {
        if (kind == 0) {
          RmsNorm(x, cols, gain, out, cols, 1, cols, {.eps = 1e-5f});
        } else {
          LayerNorm(x, cols, gain, bias, out, cols, 1, cols, {.eps = 1e-5f});
        }
      }
      times[kind].push_back(static_cast<double>(NowNs() - begin) / static_cast<double>(calls));
    }
  }
  return {Quantile(times[0], 0.5), Quantile(times[1], 0.5)};
}

LabRow Row(const std::string& label, double rms, double layer) { return {label, {rms, layer, (layer - rms) / layer}}; }

}  // namespace

Result<LabTable> MeasureNormTime(const LabModel& model) {
  LabTable table{"columns", {"RMSNorm, ns", "LayerNorm, ns", "saved"}, {}};
  LabRandom random(1);
  for (size_t cols = 64; cols <= 16384; cols *= 2) {
    const std::vector<double> times = RowTimes(cols, random);
    table.rows.push_back(Row(std::to_string(cols), times[0], times[1]));
  }
  Result<ModelRun> run = ModelRun::Create(model);
  if (!run.ok()) return run.status();
  RmsStandIn rms{/*with_gain=*/true};
  LayerStandIn layer{VarianceForm::kTwoPass};
  const NormExperiment with_rms{NormPlacement::kRedundant, &rms}, with_layer{NormPlacement::kRedundant, &layer};
  const Way ways[] = {{nullptr, &with_rms}, {nullptr, &with_layer}};
  const std::vector<TokenId> token{run->tokens_of_text().front()};
  Result<std::vector<std::vector<double>>> trial = TakeTurns(run->session(), token, ways, 3);
  if (!trial.ok()) return trial.status();
  const double round_ns = Quantile((*trial)[0], 0.5) * 2;
  const auto times = TakeTurns(run->session(), token, ways, RoundsWithin(1, round_ns, 5, 400));
  if (!times.ok()) return times.status();
  const Turns turns = Compare((*times)[0], (*times)[1]);
  table.rows.push_back(Row("a token", turns.a_ns, turns.b_ns));
  return table;
}

Verdict JudgeNormTime(const LabTable& table) {
  std::vector<double> rows = table.Column("saved");
  if (!rows.empty()) rows.pop_back();  // The model's.
  Verdict verdict;
  verdict.AllAtLeast("share of a row's time saved, smallest", rows, 0.07);
  verdict.Between("share of a token's time saved", table.At("a token", "saved"), 0.07, 0.64);
  return verdict;
}

}  // namespace prenorm::tools
