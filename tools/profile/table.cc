// Tables for a terminal: a row for each kind and site, bars, and what stands beside the rows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "tools/profile/render.h"

namespace prenorm::tools {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[640];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

double PerToken(double ns, const ProfilePhase& phase) { return ns / static_cast<double>(phase.tokens); }

std::string Bar(double share) {
  return std::string(static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 30)), '#');
}

std::string PlainLine(const char* kind, double share, const ProfilePhase& phase) {
  return Format("  %-15s %-14s %10.2f us %6.2f %%  %28s%s\n", kind, "", PerToken(share * phase.wall_ns, phase) / 1e3,
                100 * share, "", Bar(share).c_str());
}

std::string RowLine(const ProfileRow& row, const ProfilePhase& phase) {
  const double gb = row.ns > 0 ? static_cast<double>(row.work.bytes) / row.ns : 0;
  const double gflop = row.ns > 0 ? static_cast<double>(row.work.flops) / row.ns : 0;
  return Format("  %-15s %-14s %10.2f us %6.2f %%  %7.1f %9.1f  %-8s  %s\n", KindText(row).c_str(),
                OpSiteName(row.site), PerToken(row.ns, phase) / 1e3, 100 * row.share, gb, gflop, row.bound,
                Bar(row.share).c_str());
}

std::string Plural(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string NormLines(const ProfilePhase& phase, const std::vector<ProfileRow>& rows) {
  std::string sites;
  for (const ProfileRow& row : rows) {
    if (IsNorm(row)) sites += Format("%s%s %.2f %%", sites.empty() ? "" : ", ", OpSiteName(row.site), 100 * row.share);
  }
  std::string text = Format("  normalization: %.2f %% of %s", 100 * ShareOf(phase, OpKind::kNorm), phase.name.c_str()) +
                     (sites.empty() ? "" : " (" + sites + ")") + "\n";
  const SlowestNorm slowest = FindSlowestNorm(phase);
  if (slowest.row == nullptr) return text;
  const std::string layer = slowest.row->layer < 0 ? "" : " of layer " + std::to_string(slowest.row->layer);
  return text + Format("  slowest norm: %s%s, %s a token, %.1f times the median norm\n", OpSiteName(slowest.row->site),
                       layer.c_str(), TimeText(PerToken(slowest.row->ns, phase)).c_str(), slowest.times_median);
}

std::string OverheadLine(const ProfilePhase& phase) {
  const Turns& turns = phase.overhead;
  std::string text = Format("  overhead: off %.3f %% (reckoned)", 100 * phase.overhead_off_share);
  if (turns.pairs > 0) {
    text += Format(", on %+.2f %% (%+.2f to %+.2f, %zu turns)", 100 * turns.difference_ns / turns.b_ns,
                   100 * turns.low_ns / turns.b_ns, 100 * turns.high_ns / turns.b_ns, turns.pairs);
  }
  return text + "\n";
}

std::string PhaseTable(const ProfilePhase& phase, const Roofline& roofline) {
  std::string text = Format(
      "\n%s: %s%s, %s a token, spread %.1f %%; times per token, averaged over threads\n", phase.name.c_str(),
      Plural(phase.tokens, "token").c_str(), phase.depth > 0 ? (" behind " + std::to_string(phase.depth)).c_str() : "",
      TimeText(PerToken(phase.wall_ns, phase)).c_str(), 100 * (phase.p90_ns - phase.p10_ns) / phase.wall_ns);
  text +=
      Format("  %-15s %-14s %13s %8s  %7s %9s  %s\n", "kind", "site", "time", "share", "GB/s", "GFLOP/s", "bound by");
  const std::vector<ProfileRow> rows = SumLayers(phase, roofline);
  for (const ProfileRow& row : rows) {
    if (!IsWait(row)) text += RowLine(row, phase);
  }
  text += PlainLine("barrier", ShareOf(phase, OpKind::kBarrier), phase);
  if (const double idle = ShareOf(phase, OpKind::kIdle); idle > 0) text += PlainLine("idle", idle, phase);
  text += PlainLine("timer", phase.timer_share, phase);
  text += PlainLine("unattributed", phase.unattributed_share, phase);
  text += NormLines(phase, rows) + OverheadLine(phase);
  for (const CounterValue& counter : phase.counters) {
    text += Format("  %s: %.4g a token\n", counter.name.c_str(), counter.per_token);
  }
  return text;
}

std::string SweepTable(const ProfileReport& report) {
  std::string text =
      "\ndecode, by threads and depth\n  threads   depth        token      norm  residual    matmul  attention   "
      "barrier\n";
  for (const SweepRow& row : report.sweep) {
    text += Format("  %7d %7zu %12s %7.2f %% %7.2f %% %7.2f %%  %7.2f %% %7.2f %%\n", row.threads, row.depth,
                   TimeText(row.token_ns).c_str(), 100 * row.norm_share, 100 * row.residual_share,
                   100 * row.matmul_share, 100 * row.attention_share, 100 * row.barrier_share);
  }
  return text;
}

std::string VariantTable(const ProfileReport& report) {
  std::string text = Format(
      "\nnorms of a decoded token by differencing: each variant and a run without norms by turns, %zu rounds\n"
      "  %-46s %10s %25s %8s  %s\n",
      report.variants.front().turns.pairs, "variant", "cost", "95 % interval", "share", "KL to the engine's");
  for (const VariantRow& row : report.variants) {
    const Turns& turns = row.turns;
    const std::string interval = TimeText(turns.low_ns) + " to " + TimeText(turns.high_ns);
    text += Format("  %-46s %10s %25s %6.2f %%  %s\n", row.name.c_str(), TimeText(turns.difference_ns).c_str(),
                   interval.c_str(), 100 * turns.difference_ns / turns.a_ns,
                   row.kl ? Format("%.3g", *row.kl).c_str() : "another model");
  }
  text += "\nwhat is said of norms, and what was measured here\n";
  for (const ClaimRow& row : report.claims) {
    text += "  " + row.claim + " (" + row.source + "): " + row.measured + ": " + row.verdict + "\n";
  }
  return text;
}

std::string WhatIfTable(const ProfileReport& report) {
  std::string text;
  for (const WhatIfRow& row : report.what_if) {
    const Turns& turns = row.turns;
    text += Format(
        "\nwhat if %s: %s\n  bound %s of a token (%.2f %%); measured %s saved (%s to %s, %zu turns), %.2f %% of %s\n",
        row.id.c_str(), row.text.c_str(), TimeText(row.bound_ns).c_str(), 100 * row.bound_ns / turns.a_ns,
        TimeText(turns.difference_ns).c_str(), TimeText(turns.low_ns).c_str(), TimeText(turns.high_ns).c_str(),
        turns.pairs, 100 * turns.difference_ns / turns.a_ns, TimeText(turns.a_ns).c_str());
  }
  return text;
}

}  // namespace

std::string ProfileTable(const ProfileReport& report) {
  const Roofline& roof = report.roofline;
  std::string text = Format("%s, %s, target %s, threads: %d, %lld runs%s\n", report.model.c_str(), report.type.c_str(),
                            report.target.c_str(), report.threads, static_cast<long long>(report.runs),
                            report.placement == "apart" ? ", nothing fused" : "");
  text += Format(
      "memory %.1f GB/s, caches %.0f GB/s, products of %s %.0f GFLOP/s, of f32 %.0f GFLOP/s, all measured; timer %.0f "
      "ns "
      "an event, taken off\n",
      roof.memory_bytes_s / 1e9, roof.cache_bytes_s / 1e9, report.type.c_str(), roof.product_flops_s / 1e9,
      roof.f32_flops_s / 1e9, report.timer.whole_ns);
  for (const ProfilePhase& phase : report.phases) text += PhaseTable(phase, roof);
  if (report.around.sample_ns > 0) {
    text += Format("\naround the steps, a token: tokenizing %s, sampling %s, text %s\n",
                   TimeText(report.around.tokenize_ns).c_str(), TimeText(report.around.sample_ns).c_str(),
                   TimeText(report.around.text_ns).c_str());
  }
  if (!report.sweep.empty()) text += SweepTable(report);
  if (!report.variants.empty()) text += VariantTable(report);
  text += WhatIfTable(report);
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace prenorm::tools
