// JSON that scripts rely on: fields may be added, never renamed.
#include "tools/profile/render.h"

namespace prenorm::tools {
namespace {

using Json = nlohmann::ordered_json;

Json TurnsJson(const Turns& turns) {
  return {{"ns", turns.difference_ns}, {"low_ns", turns.low_ns}, {"high_ns", turns.high_ns}, {"pairs", turns.pairs}};
}

Json RowJson(const ProfileRow& row) {
  return {{"kind", OpKindName(row.kind)},
          {"site", OpSiteName(row.site)},
          {"layer", row.layer},
          {"calls", row.calls},
          {"ns", row.ns},
          {"share", row.share},
          {"p10_ns", row.p10_ns},
          {"p90_ns", row.p90_ns},
          {"bytes", row.work.bytes},
          {"cold_bytes", row.work.cold_bytes},
          {"flops", row.work.flops},
          {"fused", row.fused},
          {"bound", row.bound}};
}

Json PhaseJson(const ProfilePhase& phase) {
  Json rows = Json::array();
  for (const ProfileRow& row : phase.rows) rows.push_back(RowJson(row));
  Json json = {{"tokens", phase.tokens},
               {"depth", phase.depth},
               {"wall_ns", phase.wall_ns},
               {"p10_ns", phase.p10_ns},
               {"p90_ns", phase.p90_ns},
               {"rows", rows},
               {"timer_share", phase.timer_share},
               {"unattributed_share", phase.unattributed_share},
               {"norm_share", ShareOf(phase, OpKind::kNorm)},
               {"residual_share", ShareOf(phase, OpKind::kResidual)},
               {"barrier_share", ShareOf(phase, OpKind::kBarrier)},
               {"idle_share", ShareOf(phase, OpKind::kIdle)},
               {"overhead_off_share", phase.overhead_off_share}};
  if (phase.overhead.pairs > 0) {
    json["overhead_share"] = phase.overhead.difference_ns / phase.overhead.b_ns;
    json["overhead"] = TurnsJson(phase.overhead);
  }
  if (const SlowestNorm slowest = FindSlowestNorm(phase); slowest.row != nullptr) {
    json["slowest_norm"] = {{"site", OpSiteName(slowest.row->site)},
                            {"layer", slowest.row->layer},
                            {"ns", slowest.row->ns},
                            {"times_median", slowest.times_median}};
  }
  for (const CounterValue& counter : phase.counters) json["counters"][counter.name + "_per_token"] = counter.per_token;
  return json;
}

}  // namespace

void AddProfileJson(const ProfileReport& report, Json& json) {
  json["model"] = {{"name", report.model}, {"type", report.type}, {"layers", report.n_layers}};
  json["runs"] = report.runs;
  json["placement"] = report.placement;
  json["timer"] = {
      {"inside_ns", report.timer.inside_ns}, {"whole_ns", report.timer.whole_ns}, {"off_ns", report.timer.off_ns}};
  json["roofline"] = {{"memory_bytes_s", report.roofline.memory_bytes_s},
                      {"cache_bytes_s", report.roofline.cache_bytes_s},
                      {"product_flops_s", report.roofline.product_flops_s},
                      {"f32_flops_s", report.roofline.f32_flops_s}};
  json["around"] = {{"tokenize_ns_per_token", report.around.tokenize_ns},
                    {"sample_ns_per_token", report.around.sample_ns},
                    {"text_ns_per_token", report.around.text_ns}};
  json["phases"] = Json::object();
  for (const ProfilePhase& phase : report.phases) json["phases"][phase.name] = PhaseJson(phase);
  for (const SweepRow& row : report.sweep) {
    json["sweep"].push_back({{"threads", row.threads},
                             {"depth", row.depth},
                             {"token_ns", row.token_ns},
                             {"norm_share", row.norm_share},
                             {"residual_share", row.residual_share},
                             {"matmul_share", row.matmul_share},
                             {"attention_share", row.attention_share},
                             {"barrier_share", row.barrier_share}});
  }
  for (const VariantRow& row : report.variants) {
    Json variant = {{"id", row.id},
                    {"name", row.name},
                    {"token_ns", row.turns.a_ns},
                    {"cost", TurnsJson(row.turns)},
                    {"share", row.turns.difference_ns / row.turns.a_ns},
                    {"engine_token_ns", row.engine_ns}};
    if (row.kl) variant["kl"] = *row.kl;
    json["variants"].push_back(variant);
  }
  for (const ClaimRow& row : report.claims) {
    json["claims"].push_back({{"id", row.id},
                              {"claim", row.claim},
                              {"source", row.source},
                              {"measured", row.measured},
                              {"verdict", row.verdict}});
  }
  for (const WhatIfRow& row : report.what_if) {
    json["what_if"].push_back({{"id", row.id},
                               {"text", row.text},
                               {"token_ns", row.turns.a_ns},
                               {"bound_ns", row.bound_ns},
                               {"saved", TurnsJson(row.turns)},
                               {"saved_share", row.turns.difference_ns / row.turns.a_ns}});
  }
  json["notes"] = report.notes;
}

}  // namespace prenorm::tools
