// prenorm lab: textbook claims about normalization, measured on this machine.
#include <cmath>
#include <filesystem>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/prompt.h"
#include "tools/common/interrupt.h"
#include "tools/lab/experiment.h"

namespace prenorm::tools {
namespace {

using nlohmann::ordered_json;

ordered_json About(const Experiment& experiment) {
  return {{"name", experiment.name},
          {"claim", experiment.claim},
          {"source", experiment.source},
          {"measured", experiment.measured}};
}

ordered_json Json(const Experiment& experiment, const LabTable& table, const Verdict& verdict) {
  ordered_json json = About(experiment);
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
  json["experiments"] = ordered_json::array();
  for (const Experiment& experiment : Experiments()) {
    std::string name = experiment.name;
    name.resize(20, ' ');
    text += name + experiment.claim + "\n";
    json["experiments"].push_back(About(experiment));
  }
  return PrintAnswer(as_json ? JsonLine(json) : text);
}

Status WritePicture(const std::string& folder, const Experiment& experiment, const std::string& svg) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // What fails here fails below, with the reason.
  return WriteFile(folder + "/" + experiment.name + ".svg", svg);
}

}  // namespace

int RunLab(const Options& options) {
  if (options.list) return List(options.json);
  const uint64_t seed = options.seed.value_or(1);
  ordered_json json = NewJson(1);
  json["seed"] = seed;
  json["experiments"] = ordered_json::array();
  size_t run = 0, held = 0;
  for (const Experiment& experiment : Experiments()) {
    if (options.experiment != "all" && options.experiment != experiment.name) continue;
    if (InterruptFlag()) return kExitInterrupted;
    const LabTable table = experiment.measure(seed);
    const Verdict verdict = experiment.judge(table);
    ++run;
    held += verdict.holds() ? 1 : 0;
    if (!options.svg.empty()) {
      if (Status status = WritePicture(options.svg, experiment, LabSvg(experiment, table, verdict)); !status.ok()) {
        return Fail(status);
      }
    }
    if (options.json) {
      json["experiments"].push_back(Json(experiment, table, verdict));
    } else if (const int code = PrintAnswer((run > 1 ? "\n" : "") + LabText(experiment, table, verdict));
               code != kExitOk) {
      return code;
    }
  }
  if (options.json) return PrintAnswer(JsonLine(json));
  return PrintAnswer(run < 2 ? "" : "\n" + std::to_string(held) + " of " + std::to_string(run) + " claims hold here\n");
}

}  // namespace prenorm::tools
