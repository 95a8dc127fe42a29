// prenorm doctor: what on this machine costs speed, and what to do about it.
#include "prenorm/doctor.h"

#include <algorithm>

#include "prenorm/session.h"
#include "prenorm/target.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"

namespace prenorm::tools {
namespace {

std::string Json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json = NewJson(DefaultThreads().threads);
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"level", FindingLevelName(finding.level)},
                                {"text", finding.text},
                                {"hint", finding.hint}});
  }
  return JsonLine(json);
}

std::string Table(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    std::string id = finding.id, level = FindingLevelName(finding.level);
    level.resize(9, ' ');
    id.resize(20, ' ');
    text += level + id + finding.text + "\n";
    if (!finding.hint.empty()) text += std::string(29, ' ') + "-> " + finding.hint + "\n";
  }
  const auto warnings = std::count_if(findings.begin(), findings.end(),
                                      [](const Finding& finding) { return finding.level == FindingLevel::kWarning; });
  const std::string threads = "Threads that the engine takes by itself: " + DefaultThreads().reason + "\n";
  return text + "\n" + threads +
         (warnings == 0 ? "Nothing costs speed here.\n" : std::to_string(warnings) + " of these cost speed.\n");
}

}  // namespace

int RunDoctor(const Options& options) {
  if (!options.target.empty()) {
    if (Status status = ForceTarget(options.target); !status.ok()) {
      return Fail(Status(StatusCode::kInvalidArgument, status.message()));
    }
  }
  const std::vector<Finding> findings = Diagnose();
  return PrintAnswer(options.json ? Json(findings) : Table(findings));
}

}  // namespace prenorm::tools
