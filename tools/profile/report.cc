// Sums over a phase, and what limits a row.
#include "tools/profile/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "tools/common/measure.h"

namespace prenorm::tools {

double NsOf(const ProfilePhase& phase, OpKind kind) {
  double ns = 0;
  for (const ProfileRow& row : phase.rows) ns += row.kind == kind ? row.ns : 0;
  return ns;
}

double ShareOf(const ProfilePhase& phase, OpKind kind) { return NsOf(phase, kind) / phase.wall_ns; }

std::vector<ProfileRow> SumLayers(const ProfilePhase& phase, const Roofline& roofline) {
  std::map<std::pair<OpKind, OpSite>, ProfileRow> sums;
  for (const ProfileRow& row : phase.rows) {
    ProfileRow& sum = sums.try_emplace({row.kind, row.site}, ProfileRow{row.kind, row.site, -1}).first->second;
    sum.fused = row.fused;
    sum.calls += row.calls;
    sum.ns += row.ns;
    sum.share += row.share;
    sum.p10_ns += row.p10_ns;
    sum.p90_ns += row.p90_ns;
    sum.work.bytes += row.work.bytes;
    sum.work.cold_bytes += row.work.cold_bytes;
    sum.work.flops += row.work.flops;
  }
  std::vector<ProfileRow> rows;
  for (auto& [key, row] : sums) {
    row.bound = BoundOf(row, roofline);
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.ns > b.ns; });
  return rows;
}

void NameFusedWork(std::vector<ProfileRow>& rows) {
  std::set<std::pair<OpKind, OpSite>> there;
  for (const ProfileRow& row : rows) there.insert({row.kind, row.site});
  const auto has = [&](OpKind kind, OpSite site) { return there.count({kind, site}) != 0; };
  for (ProfileRow& row : rows) {
    const bool in_front =
        row.site == OpSite::kAttnNorm || row.site == OpSite::kFfnNorm || row.site == OpSite::kFinalNorm;
    const OpSite behind = row.site == OpSite::kAttnOutput ? OpSite::kPostAttnNorm : OpSite::kPostFfnNorm;
    const bool adds = row.site == OpSite::kAttnOutput || row.site == OpSite::kDown;
    if (row.kind == OpKind::kNorm && in_front && !has(OpKind::kPack, row.site)) row.fused = "pack";
    if (row.kind == OpKind::kMatMul && adds && !has(OpKind::kResidual, behind) && !has(OpKind::kNorm, behind)) {
      row.fused = "residual";
    }
  }
}

std::string KindText(const ProfileRow& row) {
  return std::string(OpKindName(row.kind)) + (row.fused[0] != '\0' ? "+" : "") + row.fused;
}

const char* BoundOf(const ProfileRow& row, const Roofline& roofline) {
  if (IsWait(row)) return "wait";
  const auto seconds = [](uint64_t amount, double rate) { return rate > 0 ? static_cast<double>(amount) / rate : 0.0; };
  const double memory = seconds(row.work.cold_bytes, roofline.memory_bytes_s) +
                        seconds(row.work.bytes - row.work.cold_bytes, roofline.cache_bytes_s);
  const double compute =
      seconds(row.work.flops, row.kind == OpKind::kMatMul ? roofline.product_flops_s : roofline.f32_flops_s);
  if (std::max(memory, compute) < 0.5 * row.ns * 1e-9) return "latency";
  return memory >= compute ? "memory" : "compute";
}

SlowestNorm FindSlowestNorm(const ProfilePhase& phase) {
  std::vector<double> times;
  SlowestNorm slowest;
  for (const ProfileRow& row : phase.rows) {
    if (!IsNorm(row)) continue;
    times.push_back(row.ns);
    if (slowest.row == nullptr || row.ns > slowest.row->ns) slowest.row = &row;
  }
  if (slowest.row != nullptr) slowest.times_median = slowest.row->ns / std::max(1.0, Quantile(times, 0.5));
  return slowest;
}

std::string TimeText(double ns) {
  const double size = std::abs(ns);
  char text[48];
  if (size < 999.5)
    std::snprintf(text, sizeof text, "%.0f ns", ns);
  else if (size < 999.5e3)
    std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
  else if (size < 999.5e6)
    std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  else
    std::snprintf(text, sizeof text, "%.2f s", ns / 1e9);
  return text;
}

}  // namespace prenorm::tools
