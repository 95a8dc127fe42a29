// Experiment "final-norm": a model's logits without the norm in front of them.
#include <cmath>
#include <cstring>

#include "tools/common/log_probs.h"
#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"

namespace prenorm::tools {
namespace {

struct FinalStandIn : NormStandIn {
  enum Form { kOwn, kNoGain, kNone };
  explicit FinalStandIn(Form chosen) : form(chosen) {}
  void Normalize(const NormCall& call) override {
    NormChoice choice = OwnChoice(call);
    if (call.site == OpSite::kFinalNorm) {
      if (form == kNone) {
        if (call.out != call.x) std::memcpy(call.out, call.x, call.rows * call.cols * sizeof(float));
        return;
      }
      choice.gain = form == kOwn;
    }
    NormalizeAs(call, choice);
  }
  Form form;
};

// Mean over the tokens of the deviation of a token's logits.
double Spread(const std::vector<float>& logits, size_t vocab_size) {
  double total = 0;
  for (size_t at = 0; at < logits.size(); at += vocab_size) {
    double sum = 0, squares = 0;
    for (size_t i = at; i < at + vocab_size; ++i) {
      sum += static_cast<double>(logits[i]);
      squares += static_cast<double>(logits[i]) * static_cast<double>(logits[i]);
    }
    const auto count = static_cast<double>(vocab_size);
    total += std::sqrt(squares / count - (sum / count) * (sum / count));
  }
  const size_t rows = logits.size() / vocab_size;
  return total / static_cast<double>(rows);
}

}  // namespace

Result<LabTable> MeasureFinalNorm(const LabModel& model) {
  Result<ModelRun> run = ModelRun::Create(model);
  if (!run.ok()) return run.status();
  LabTable table{"final norm", {"logit spread", "same top-1", "KL"}, {}};
  const std::pair<const char*, FinalStandIn::Form> forms[] = {
      {"as trained", FinalStandIn::kOwn}, {"without gain", FinalStandIn::kNoGain}, {"none", FinalStandIn::kNone}};
  std::vector<float> reference;
  for (const auto& [name, form] : forms) {
    FinalStandIn stand_in(form);
    // Log-probabilities are logits less a constant of the token, which their spread does not see.
    Result<std::vector<float>> found = run->LogProbs(stand_in);
    if (!found.ok()) return found.status();
    if (reference.empty()) reference = *found;
    const Departure departure = Compare(reference, *found, run->vocab_size());
    table.rows.push_back({name, {Spread(*found, run->vocab_size()), departure.same_top1, departure.kl}});
  }
  return table;
}

Verdict JudgeFinalNorm(const LabTable& table) {
  const double ratio = table.At("none", "logit spread") / table.At("as trained", "logit spread");
  Verdict verdict;
  verdict.AtLeast("spread without the norm, as a factor up or down", std::exp(std::fabs(std::log(ratio))), 2);
  verdict.AtLeast("KL without the norm", table.At("none", "KL"), 0.1);
  return verdict;
}

}  // namespace prenorm::tools
