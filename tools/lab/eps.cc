// Experiment "eps": other values and places of eps than those that a model's weights were trained with.
#include <algorithm>
#include <cmath>

#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"

namespace prenorm::tools {
namespace {

struct EpsStandIn : NormStandIn {
  void Normalize(const NormCall& call) override {
    NormChoice choice = OwnChoice(call);
    if (eps >= 0) choice.eps = eps;
    choice.placement = placement;
    NormalizeAs(call, choice);
  }
  float eps = -1;  // Below 0: the model's own.
  EpsPlacement placement = EpsPlacement::kInsideRoot;
};

struct Setting {
  const char* name;
  float eps;
  EpsPlacement placement;
};

constexpr Setting kSettings[] = {
    {"1e-5", 1e-5f, EpsPlacement::kInsideRoot},           {"1e-6", 1e-6f, EpsPlacement::kInsideRoot},
    {"1e-12", 1e-12f, EpsPlacement::kInsideRoot},         {"1e-5, outside", 1e-5f, EpsPlacement::kOutsideRoot},
    {"1e-6, outside", 1e-6f, EpsPlacement::kOutsideRoot}, {"1e-12, outside", 1e-12f, EpsPlacement::kOutsideRoot},
};

// Root mean square of the differences over the deviation of `logits`.
double Drift(const std::vector<float>& logits, const std::vector<float>& other) {
  double sum = 0, squares = 0, differences = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double value = static_cast<double>(logits[i]);
    sum += value;
    squares += value * value;
    differences += std::pow(static_cast<double>(other[i]) - value, 2);
  }
  const double mean = sum / static_cast<double>(logits.size());
  return std::sqrt(differences / (squares - mean * sum));
}

}  // namespace

Result<LabTable> MeasureEps(const LabModel& model) {
  Result<ModelRun> run = ModelRun::Create(model);
  if (!run.ok()) return run.status();
  LabTable table{"eps", {"logit drift", "KL", "same top-1"}, {}};
  EpsStandIn own;
  Result<std::vector<float>> reference = run->LogProbs(own);
  if (!reference.ok()) return reference.status();
  const auto add = [&](const char* name, const Result<std::vector<float>>& found) {
    if (!found.ok()) return found.status();
    const Departure departure = Compare(*reference, *found, run->vocab_size());
    table.rows.push_back({name, {Drift(*reference, *found), departure.kl, departure.same_top1}});
    return Status();
  };
  // The same eps with sums of squares by another way: what rounding alone does to this model.
  struct Exact : NormStandIn {
    void Normalize(const NormCall& call) override {
      NormChoice choice = OwnChoice(call);
      choice.accumulation = Accumulation::kExact;
      NormalizeAs(call, choice);
    }
  } exact;
  if (Status status = add("its own", run->LogProbs(exact)); !status.ok()) return status;
  for (const Setting& setting : kSettings) {
    EpsStandIn other;
    other.eps = setting.eps;
    other.placement = setting.placement;
    if (Status status = add(setting.name, run->LogProbs(other)); !status.ok()) return status;
  }
  return table;
}

Verdict JudgeEps(const LabTable& table) {
  double largest = 0;
  for (const Setting& setting : kSettings) {
    const double kl = table.At(setting.name, "KL");
    largest = std::isnan(kl) ? kl : std::max(largest, kl);
    if (std::isnan(kl)) break;
  }
  Verdict verdict;
  verdict.AtLeast("largest KL of another eps", largest, 1e-4);
  verdict.AtLeast("the same over what rounding does", largest / std::max(table.At("its own", "KL"), 1e-12), 10);
  return verdict;
}

}  // namespace prenorm::tools
