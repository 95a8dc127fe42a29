// prenorm profile: where the time of a prompt and of a decoded token goes, operator by operator, and the share of it that
// normalization takes.
#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/measure.h"
#include "tools/common/op_totals.h"
#include "tools/common/open_model.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

// One phase in its repetition of median wall time: rows of one repetition add up exactly, medians of rows would not.
struct Phase {
  const char* name = "";
  size_t tokens = 0;
  uint64_t wall_ns = 0;
  std::vector<OpRow> rows;
  double spread = 0;  // (p90 - p10) / median of the wall time.
};

class Profiler {
 public:
  Profiler(Session& session, const Options& options)
      : session_(session), totals_(session.threads(), session.model().config().n_layers), runs_(std::max<int64_t>(5, options.runs)) {}

  Result<std::vector<Phase>> Run(size_t prefill, size_t decode) {
    const size_t vocab_size = session_.model().config().vocab_size;
    const std::vector<TokenId> ids = SpreadTokens(prefill + decode, vocab_size);
    session_.set_observer(&totals_);
    std::vector<std::vector<Phase>> repetitions(2);
    for (int64_t run = -1; run < runs_; ++run) {  // The first one warms up.
      Progress("run " + std::to_string(run + 1) + " of " + std::to_string(runs_));
      if (Status status = session_.Rewind(0); !status.ok()) return status;
      for (const bool decoding : {false, true}) {
        const std::span<const TokenId> part =
            decoding ? std::span(ids).subspan(prefill) : std::span(ids).first(prefill);
        Result<Phase> phase = Once(part, decoding);
        if (!phase.ok()) return phase.status();
        if (run >= 0) repetitions[decoding ? 1 : 0].push_back(std::move(phase).value());
      }
    }
    Progress("");
    session_.set_observer(nullptr);
    return std::vector<Phase>{Median(repetitions[0]), Median(repetitions[1])};
  }

 private:
  Result<Phase> Once(std::span<const TokenId> ids, bool decoding) {
    Phase phase;
    phase.name = decoding ? "decode" : "prefill";
    phase.tokens = ids.size();
    totals_.Clear();
    const size_t step = decoding ? 1 : ids.size();
    const uint64_t begin = NowNs();
    for (size_t at = 0; at < ids.size(); at += step) {
      if (Status status = session_.Eval(ids.subspan(at, step)); !status.ok()) return status;
    }
    phase.wall_ns = NowNs() - begin;
    phase.rows = totals_.Rows();
    for (OpRow& row : phase.rows) row.ns /= static_cast<uint64_t>(totals_.threads());
    return phase;
  }

  static Phase Median(std::vector<Phase>& repetitions) {
    std::sort(repetitions.begin(), repetitions.end(), [](const Phase& a, const Phase& b) { return a.wall_ns < b.wall_ns; });
    std::vector<double> walls;
    for (const Phase& phase : repetitions) walls.push_back(static_cast<double>(phase.wall_ns));
    Phase median = std::move(repetitions[repetitions.size() / 2]);
    median.spread = (Quantile(walls, 0.9) - Quantile(walls, 0.1)) / Quantile(walls, 0.5);
    return median;
  }

  Session& session_;
  OpTotals totals_;
  int64_t runs_;
};

double Share(uint64_t ns, const Phase& phase) { return static_cast<double>(ns) / static_cast<double>(phase.wall_ns); }

double ShareOf(OpKind kind, const Phase& phase) {
  uint64_t ns = 0;
  for (const OpRow& row : phase.rows) ns += row.kind == kind ? row.ns : 0;
  return Share(ns, phase);
}

double Unattributed(const Phase& phase) {
  double share = 1.0;
  for (const OpRow& row : phase.rows) share -= Share(row.ns, phase);
  return share;
}

std::string TableLine(const std::string& kind, const std::string& site, double share, const Phase& phase) {
  const double us = share * static_cast<double>(phase.wall_ns) / 1e3 / static_cast<double>(phase.tokens);
  std::string bar(static_cast<size_t>(std::clamp(share, 0.0, 1.0) * 40 + 0.5), '#');
  char line[160];
  std::snprintf(line, sizeof line, "  %-12s %-14s %10.2f us %6.2f %%  %s\n", kind.c_str(), site.c_str(), us, 100 * share, bar.c_str());
  return line;
}

std::string Table(const Phase& phase) {
  char head[160];
  std::snprintf(head, sizeof head, "%s: %zu tokens, %.3f ms a token, spread %.1f %%; times per token, averaged over threads\n",
                phase.name, phase.tokens, static_cast<double>(phase.wall_ns) / 1e6 / static_cast<double>(phase.tokens),
                100 * phase.spread);
  std::map<std::pair<OpKind, OpSite>, uint64_t> sums;  // Layers added up.
  for (const OpRow& row : phase.rows) sums[{row.kind, row.site}] += row.ns;
  std::vector<std::pair<std::pair<OpKind, OpSite>, uint64_t>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = head, norms;
  uint64_t barrier = 0;
  for (const auto& [key, ns] : rows) {
    if (key.first == OpKind::kBarrier) {
      barrier += ns;
      continue;
    }
    text += TableLine(OpKindName(key.first), OpSiteName(key.second), Share(ns, phase), phase);
    if (key.first == OpKind::kNorm) {
      char part[64];
      std::snprintf(part, sizeof part, "%s%s %.2f %%", norms.empty() ? "" : ", ", OpSiteName(key.second), 100 * Share(ns, phase));
      norms += part;
    }
  }
  text += TableLine("barrier", "all", Share(barrier, phase), phase);
  text += TableLine("unattributed", "", Unattributed(phase), phase);
  char last[160];
  std::snprintf(last, sizeof last, "  normalization: %.2f %% of %s", 100 * ShareOf(OpKind::kNorm, phase), phase.name);
  return text + last + (norms.empty() ? "" : " (" + norms + ")") + "\n";
}

nlohmann::ordered_json Json(const Phase& phase) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const OpRow& row : phase.rows) {
    rows.push_back({{"kind", OpKindName(row.kind)}, {"site", OpSiteName(row.site)}, {"layer", row.layer},
                    {"calls", row.calls}, {"ns", row.ns}, {"share", Share(row.ns, phase)}});
  }
  return {{"tokens", phase.tokens},
          {"wall_ns", phase.wall_ns},
          {"rows", rows},
          {"unattributed_share", Unattributed(phase)},
          {"norm_share", ShareOf(OpKind::kNorm, phase)},
          {"residual_share", ShareOf(OpKind::kResidual, phase)}};
}

}  // namespace

int RunProfile(const Options& options) {
  if (options.prefill < 1 || options.decode < 1 || options.prefill > 1000000 || options.decode > 1000000) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       "There must be something to measure.\n--prefill, --decode: expected 1 to 1000000\nGive such numbers."));
  }
  const auto prefill = static_cast<size_t>(options.prefill), decode = static_cast<size_t>(options.decode);
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options, prefill + decode);
  if (!session.ok()) return Fail(session.status());
  (*session)->set_cancel_flag(&InterruptFlag());
  Result<std::vector<Phase>> phases = Profiler(**session, options).Run(prefill, decode);
  if (!phases.ok()) return Fail(phases.status());
  if (options.json) {
    nlohmann::ordered_json json = NewJson((*session)->threads());
    for (const Phase& phase : *phases) json["phases"][phase.name] = Json(phase);
    return PrintAnswer(JsonLine(json));
  }
  std::string text = "Threads: " + std::to_string((*session)->threads()) + "\n";
  for (const Phase& phase : *phases) text += "\n" + Table(phase);
  return PrintAnswer(text);
}

}  // namespace prenorm::tools
