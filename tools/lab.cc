// prenorm lab: textbook claims about normalization, measured on this machine.
#include <cmath>
#include <filesystem>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/prompt.h"
#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"
#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"

namespace prenorm::tools {
namespace {

using nlohmann::ordered_json;

ordered_json About(const Experiment& experiment) {
  return {{"id", experiment.name},
          {"claim", experiment.claim},
          {"source", experiment.source},
          {"measured", experiment.measured}};
}

ordered_json Json(const Experiment& experiment, const std::string& model, const LabTable& table,
                  const Verdict& verdict) {
  ordered_json json = About(experiment);
  if (!model.empty()) json["model"] = model;
  json["columns"] = table.columns;
  json["rows"] = ordered_json::array();
  for (const LabRow& row : table.rows) {
    ordered_json values = ordered_json::array();
    for (const double value : row.values) values.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json());
    json["rows"].push_back({{"label", row.label}, {"values", values}});
  }
  json["findings"] = ordered_json::array();
  for (const Finding& finding : verdict.findings()) {
    json["findings"].push_back({{"holds", finding.holds}, {"text", finding.text}});
  }
  json["holds"] = verdict.holds();
  return json;
}

int List(bool as_json) {
  std::string text;
  ordered_json json = NewJson(1);
  json["results"] = ordered_json::array();
  for (const Experiment& experiment : Experiments()) {
    std::string name = experiment.name;
    name.resize(20, ' ');
    text += name + (StdoutIsTerminal() ? Wrapped(experiment.claim, name.size(), LineWidth()) : experiment.claim) + "\n";
    json["results"].push_back(About(experiment));
  }
  return PrintAnswer(as_json ? JsonLine(json) : text);
}

Status WritePicture(const std::string& folder, const Experiment& experiment, const std::string& svg) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // What fails here fails below, with the reason.
  return WriteFile(folder + "/" + experiment.name + ".svg", svg);
}

// Runs experiments, and opens the model when the first of them needs it.
class Lab {
 public:
  explicit Lab(const Options& options) : options_(options), json_(NewJson(1)) {
    json_["seed"] = seed();
    json_["results"] = ordered_json::array();
  }

  // kExitOk to go on.
  int Run(const Experiment& experiment) {
    std::string model;
    if (experiment.measure_model != nullptr) {
      if (!model_) model_.emplace(OpenLabModel(options_));
      if (!model_->ok()) return LeaveOut(experiment, model_->status());
      model = (*model_)->name;
    }
    const Result<LabTable> table =
        model.empty() ? Result<LabTable>(experiment.measure(seed())) : experiment.measure_model(**model_);
    if (!table.ok()) return LeaveOut(experiment, table.status());
    const Verdict verdict = experiment.judge(*table);
    ++run_;
    held_ += verdict.holds() ? 1 : 0;
    if (!options_.svg.empty()) {
      const std::string svg = LabSvg(experiment, model, *table, verdict);
      if (Status status = WritePicture(options_.svg, experiment, svg); !status.ok()) return Fail(status);
    }
    if (!options_.json) {
      return PrintAnswer((run_ > 1 ? "\n" : "") + LabText(experiment, model, *table, verdict));
    }
    json_["results"].push_back(Json(experiment, model, *table, verdict));
    return kExitOk;
  }

  int Finish() const {
    if (options_.json) return PrintAnswer(JsonLine(json_));
    if (run_ < 2) return kExitOk;
    return PrintAnswer("\n" + std::to_string(held_) + " of " + std::to_string(run_) + " claims hold here\n");
  }

 private:
  uint64_t seed() const { return options_.seed.value_or(1); }

  // Of all experiments those without a model run where there is none, and where a model that nobody named cannot serve.
  int LeaveOut(const Experiment& experiment, const Status& status) const {
    if (status.code() == StatusCode::kCancelled) return kExitInterrupted;
    if (options_.experiment != "all" || !options_.model.empty()) return FailModel(status);
    Note("prenorm: note: " + std::string(experiment.name) + " left out: " + Indented(status.message()));
    return kExitOk;
  }

  const Options& options_;
  ordered_json json_;
  std::optional<Result<LabModel>> model_;
  size_t run_ = 0, held_ = 0;
};

}  // namespace

int RunLab(const Options& options) {
  if (options.list) return List(options.json);
  if (Status status = CheckThreads(options.threads); !status.ok()) return Fail(status);
  EndAtInterrupt();
  Lab lab(options);
  for (const Experiment& experiment : Experiments()) {
    if (options.experiment != "all" && options.experiment != experiment.name) continue;
    if (const int code = lab.Run(experiment); code != kExitOk) return code;
  }
  return lab.Finish();
}

}  // namespace prenorm::tools
