// Costs come from whole tokens with and without norms, not from events: work that is fused into a
// product shows only so.
#include "tools/profile/variants.h"

#include <algorithm>
#include <cstdio>

#include "tools/common/log_probs.h"
#include "tools/profile/replayed_norm.h"
#include "tools/profile/stand_ins.h"
#include "tools/profile/turns.h"

namespace prenorm::tools {
namespace {

constexpr const char* kWhatIfs[] = {"norm=0", "fused", "folded", "layernorm"};

// Everything that a comparison can run.
struct Kit {
  explicit Kit(int threads) : nothing(threads), bf16_result(threads) {}
  ReplayedNorm nothing;
  RmsStandIn no_gain{false}, rms{true};
  LayerStandIn two_pass{VarianceForm::kTwoPass}, single_pass{VarianceForm::kSinglePass};
  Bf16StandIn bf16_result;
  NormExperiment none{NormPlacement::kRedundant, &nothing};
  NormExperiment apart{NormPlacement::kApart}, stage{NormPlacement::kStage}, redundant{NormPlacement::kRedundant};
};

struct Variant {
  const char* id;
  std::string name;
  NormExperiment norms;
  bool has_logits = true;  // Comparable with the engine's.
};

std::vector<Variant> Variants(Kit& kit, bool layer_norm) {
  const std::string own = layer_norm ? "LayerNorm" : "RMSNorm";
  const auto redundant = [](NormStandIn& stand_in) { return NormExperiment{NormPlacement::kRedundant, &stand_in}; };
  std::vector<Variant> variants = {
      {"apart", own + ", nothing fused", kit.apart},
      {"stage", own + ", residual sum in the product (D0)", kit.stage},
      {"redundant", own + ", packed by each thread (D1)", kit.redundant},
      {"engine", own + ", as the engine does", NormExperiment{}},
      {"bf16", own + ", result in bf16 (D1)", redundant(kit.bf16_result)},
      {"folded", "RMSNorm without gain, as if folded (D1)", redundant(kit.no_gain), false},
      {"layernorm_two_pass", "LayerNorm, two passes (D1)", redundant(kit.two_pass)},
      {"layernorm_single_pass", "LayerNorm, merged moments (D1)", redundant(kit.single_pass)},
  };
  if (layer_norm) variants.push_back({"rmsnorm", "RMSNorm (D1)", redundant(kit.rms)});
  return variants;
}

// Logits of the text's tokens but the first, one by one from an empty cache.
Result<std::vector<float>> LogitsOf(Session& session, const std::vector<TokenId>& text, const NormExperiment* norms) {
  Status status = session.Rewind(0);
  session.set_norm_experiment(norms);
  std::vector<float> all;
  for (size_t i = 0; i < text.size() && status.ok(); ++i) {
    status = session.Eval(std::span(text).subspan(i, 1));
    const std::span<const float> row = session.logits();
    if (i > 0) all.insert(all.end(), row.begin(), row.end());
  }
  session.set_norm_experiment(nullptr);
  if (!status.ok()) return status;
  const size_t vocab_size = session.model().config().vocab_size;
  for (size_t at = 0; at < all.size(); at += vocab_size) LogSoftmax(all.data() + at, vocab_size);
  return all;
}

Status MeasureDivergence(Session& session, const VariantOptions& options, std::span<const Variant> variants,
                         std::vector<VariantRow>& rows) {
  const size_t vocab_size = session.model().config().vocab_size;
  const Result<std::vector<float>> engine = LogitsOf(session, options.text, nullptr);
  if (!engine.ok()) return engine.status();
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].has_logits) continue;
    options.progress("logits: " + variants[i].name);
    const Result<std::vector<float>> logits = LogitsOf(session, options.text, &variants[i].norms);
    if (!logits.ok()) return logits.status();
    DivergenceTotals totals;
    for (size_t at = 0; at < engine->size(); at += vocab_size) {
      totals.Add(KlDivergence(engine->data() + at, logits->data() + at, vocab_size), true);
    }
    rows[i].kl = totals.mean();
  }
  return {};
}

std::string Percent(double part, double whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", whole != 0 ? 100 * part / whole : 0.0);
  return text;
}

// A share of a cost, if the cost is more than noise.
std::string PartOf(const Turns& part, const Turns& cost) {
  if (cost.low_ns <= 0) return "an unmeasurable part";
  return part.difference_ns >= cost.difference_ns ? "100 %" : Percent(part.difference_ns, cost.difference_ns);
}

// Whether a difference above zero is what is claimed, as far as its interval tells.
const char* Verdict(const Turns& turns) {
  return turns.low_ns > 0 ? "confirmed" : turns.high_ns < 0 ? "refuted" : "undecided";
}

void AddFlopsClaim(ProfileReport& report) {
  for (const ProfilePhase& phase : report.phases) {
    uint64_t all = 0, norms = 0;
    for (const ProfileRow& row : phase.rows) {
      all += row.work.flops;
      norms += IsNorm(row) ? row.work.flops : 0;
    }
    const double flops = all > 0 ? static_cast<double>(norms) / static_cast<double>(all) : 0;
    const double time = ShareOf(phase, OpKind::kNorm);
    report.claims.push_back(
        {"flops_" + phase.name, "norms take more of the time of " + phase.name + " than of its arithmetic",
         "Ivanov et al. 2021", Percent(time, 1) + " of the time, " + Percent(flops, 1) + " of the arithmetic",
         time > flops ? "confirmed" : "refuted"});
  }
}

}  // namespace

std::span<const char* const> WhatIfNames() { return kWhatIfs; }

Status CompareNorms(Session& session, const VariantOptions& options, ProfileReport& report) {
  KindProbe probe;
  const NormExperiment probing{NormPlacement::kRedundant, &probe};
  const std::span<const TokenId> token(&options.token, 1);
  const Way first[] = {{nullptr, &probing}, {}};
  Result<std::vector<std::vector<double>>> times = TakeTurns(session, token, first, 3);
  if (!times.ok()) return times.status();

  Kit kit(session.threads());
  const std::vector<Variant> variants = Variants(kit, probe.layer_norm());
  std::vector<Way> ways;
  ways.reserve(variants.size() + 1);
  for (const Variant& variant : variants) ways.push_back({nullptr, &variant.norms});
  ways.push_back({nullptr, &kit.none});
  options.progress("norms by turns");
  const double round_ns = Compare((*times)[1], (*times)[1]).a_ns * static_cast<double>(ways.size());
  const auto most = static_cast<size_t>(options.runs) * 80;
  times = TakeTurns(session, token, ways, RoundsWithin(40, round_ns, 5, most));
  if (!times.ok()) return times.status();

  const auto times_of = [&](std::string_view id) -> const std::vector<double>& {
    for (size_t i = 0; i < variants.size(); ++i) {
      if (id == variants[i].id) return (*times)[i];
    }
    return times->back();
  };
  std::vector<VariantRow> rows;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Turns turns = Compare((*times)[i], times->back());
    rows.push_back(
        {variants[i].id, variants[i].name, turns, Compare(times_of("engine"), times->back()).a_ns, std::nullopt});
  }
  if (Status status = MeasureDivergence(session, options, variants, rows); !status.ok()) return status;
  report.variants = std::move(rows);

  const auto cost_of = [&](std::string_view id) { return Compare(times_of(id), times->back()); };
  const char* rms = probe.layer_norm() ? "rmsnorm" : "redundant";
  const Turns cheaper = Compare(times_of("layernorm_two_pass"), times_of(rms));
  const Turns layer_cost = cost_of("layernorm_two_pass");
  report.claims.push_back({"rmsnorm_cheaper", "RMSNorm is 7 to 64 % cheaper than LayerNorm", "Zhang and Sennrich 2019",
                           TimeText(cost_of(rms).difference_ns) + " against " + TimeText(layer_cost.difference_ns) +
                               " a token, " + PartOf(cheaper, layer_cost) + " of it saved",
                           Verdict(cheaper)});
  const Turns fusion = Compare(times_of("apart"), times_of("engine"));
  report.claims.push_back({"fusion_pays", "fusing norms with their neighbours pays", "Ivanov et al. 2021",
                           TimeText(fusion.difference_ns) + " a token (" + TimeText(fusion.low_ns) + " to " +
                               TimeText(fusion.high_ns) + "), " + PartOf(fusion, cost_of("apart")) +
                               " of what norms cost unfused",
                           Verdict(fusion)});
  AddFlopsClaim(report);
  return {};
}

Status AnswerWhatIf(Session& session, const std::string& what, const VariantOptions& options, const ProfilePhase* apart,
                    ProfileReport& report) {
  Kit kit(session.threads());
  const NormExperiment engine, no_gain{NormPlacement::kRedundant, &kit.no_gain},
      layer_norm{NormPlacement::kRedundant, &kit.two_pass};
  const ProfilePhase& decode = report.phases.back();
  const auto per_token = [](const ProfilePhase& phase, double ns) { return ns / static_cast<double>(phase.tokens); };
  const double norm_ns = per_token(decode, NsOf(decode, OpKind::kNorm));
  WhatIfRow row;
  row.id = what;
  Way a{nullptr, &engine}, b;
  if (what == "norm=0") {
    row.text = "no norms at all: their results copied from an earlier step";
    row.bound_ns = norm_ns;
    b.norms = &kit.none;
  } else if (what == "fused") {
    row.text = "what fusion saves, against residual sums, norms and packing as stages of their own";
    double ns = NsOf(*apart, OpKind::kNorm) + NsOf(*apart, OpKind::kResidual);
    for (const ProfileRow& r : apart->rows) {
      const bool beside_norm = r.site == OpSite::kAttnNorm || r.site == OpSite::kFfnNorm ||
                               r.site == OpSite::kFinalNorm || r.site == OpSite::kPostAttnNorm ||
                               r.site == OpSite::kPostFfnNorm;
      if (r.kind == OpKind::kBarrier && beside_norm) ns += r.ns;
    }
    row.bound_ns = per_token(*apart, ns);
    a.norms = &kit.apart;
    b.norms = &engine;
  } else if (what == "folded") {
    row.text =
        "gains folded into the weights, against norms packed by each thread; the bound is the gain's part of the bytes";
    row.bound_ns = norm_ns / 3;
    a.norms = &kit.redundant;
    b.norms = &no_gain;
  } else {
    row.text = "LayerNorm in RMSNorm's place, both packed by each thread; the bound is twice the arithmetic";
    row.bound_ns = -norm_ns;
    a.norms = &kit.redundant;
    b.norms = &layer_norm;
  }
  options.progress("what if " + what);
  const Way ways[] = {a, b};
  const double token_ns = per_token(decode, decode.wall_ns);
  const size_t rounds =
      RoundsWithin(4.0 * static_cast<double>(options.runs), 2 * token_ns, 5, static_cast<size_t>(options.runs) * 160);
  Result<std::vector<std::vector<double>>> times = TakeTurns(session, {&options.token, 1}, ways, rounds);
  if (!times.ok()) return times.status();
  row.turns = Compare((*times)[0], (*times)[1]);
  report.what_if.push_back(row);
  return {};
}

}  // namespace prenorm::tools
