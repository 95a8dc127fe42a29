// Which model the lab looks at, and how it is run.
#include "tools/lab/model_run.h"

#include <algorithm>
#include <filesystem>

#include "prenorm/tokenizer.h"
#include "tools/fetch/catalog.h"
#include "tools/common/log_probs.h"
#include "tools/common/open_model.h"
#include "tools/common/sample_text.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTokens = 48;  // Enough for means, few enough for a hundred runs in some seconds.

// The tiny model of the tree that the working folder, or the executable's, lies in; empty if none does.
std::string TreeModel() {
  std::error_code error;
  for (fs::path folder : {fs::current_path(error), fs::read_symlink("/proc/self/exe", error)}) {
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
      const fs::path path = folder / "models" / "tiny" / "prenorm-tiny.gguf";
      if (fs::exists(path, error)) return path.string();
    }
  }
  return "";
}

}  // namespace

Result<LabModel> OpenLabModel(const Options& options) {
  Options chosen = options;
  if (options.model.empty() && FindInCache(DefaultModel().name).empty()) {
    chosen.model = TreeModel();
    if (!chosen.model.empty()) {
      Note(
          "prenorm: note: experiments on a model use the tiny one of this tree: the default model is not here (prenorm "
          "models fetch)");
    }
  }
  Result<OpenedModel> opened = OpenModel(chosen);
  if (!opened.ok()) return opened.status();
  const ModelConfig& config = opened->model->config();
  return LabModel{config.name.empty() ? config.architecture : config.name, opened->model,
                  static_cast<int>(options.threads)};
}

Result<ModelRun> ModelRun::Create(const LabModel& model) {
  ModelRun run;
  Result<std::vector<TokenId>> ids = model.model->tokenizer().Encode(kSampleText, {.add_special = true});
  if (!ids.ok()) return ids.status();
  run.tokens_ = std::move(ids).value();
  run.tokens_.resize(std::min({run.tokens_.size(), kTokens, model.model->config().max_seq_len}));
  SessionOptions options;
  options.threads = model.threads;
  options.context = run.tokens_.size() + 1;  // One more for the token that is timed.
  options.context = std::min(options.context, model.model->config().max_seq_len);
  options.deterministic = true;
  Result<std::unique_ptr<Session>> session = Session::Create(model.model, options);
  if (!session.ok()) return session.status();
  run.session_ = std::move(session).value();
  return run;
}

Result<std::vector<float>> ModelRun::Logits(const NormExperiment* norms) {
  std::vector<float> logits(tokens() * vocab_size());
  Status status = session_->Rewind(0);
  session_->set_norm_experiment(norms);
  if (status.ok()) status = session_->Eval(tokens_, logits.data());
  session_->set_norm_experiment(nullptr);
  if (!status.ok()) return status;
  return logits;
}

Result<std::vector<float>> ModelRun::LogProbs(NormStandIn& stand_in) {
  const NormExperiment norms{NormPlacement::kEngine, &stand_in};
  Result<std::vector<float>> logits = Logits(&norms);
  if (!logits.ok()) return logits;
  for (size_t t = 0; t < tokens(); ++t) LogSoftmax(logits->data() + t * vocab_size(), vocab_size());
  return logits;
}

Departure Compare(const std::vector<float>& p, const std::vector<float>& q, size_t vocab_size) {
  DivergenceTotals totals;
  for (size_t at = 0; at < p.size(); at += vocab_size) {
    const auto top = [&](const std::vector<float>& row) {
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(at);
      return std::max_element(begin, begin + static_cast<std::ptrdiff_t>(vocab_size)) - begin;
    };
    totals.Add(KlDivergence(p.data() + at, q.data() + at, vocab_size), top(p) == top(q));
  }
  return {totals.mean(), totals.same_top1()};
}

}  // namespace prenorm::tools
