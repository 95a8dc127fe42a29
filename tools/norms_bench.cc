// Cases and peers as asked for, measured one after the other; table, goals, JSON.
#include "tools/norms_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "prenorm/session.h"

#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/norm_bench/cache_mode.h"
#include "tools/norm_bench/goals.h"

namespace prenorm::tools {
namespace {

const char* TypeName(const NormCase& c) { return c.bf16 ? "bf16" : "f32"; }

double Gbs(const CaseResult& r) { return static_cast<double>(r.which.NecessaryBytes()) / r.ns.median; }

std::string Json(const std::vector<CaseResult>& results, const std::vector<NormPeer>& peers, int threads,
                 const std::vector<GoalResult>& goals) {
  nlohmann::ordered_json json = NewJson(threads);
  json["peers"] = nlohmann::ordered_json::object();
  for (const NormPeer& peer : peers) json["peers"][peer.name()] = peer.description();
  json["results"] = nlohmann::ordered_json::array();
  for (const CaseResult& r : results) {
    const NormCase& c = r.which;
    nlohmann::ordered_json row = {
        {"op", c.OpName()},   {"dtype", TypeName(c)}, {"rows", c.rows},
        {"cols", c.cols},     {"threads", c.threads}, {"cache", CacheModeName(c.cache)},
        {"ns", r.ns.median},  {"copy_ns", r.copy_ns}, {"peers", r.peers},
        {"ns_p10", r.ns.p10}, {"ns_p90", r.ns.p90},   {"ns_row", r.ns.median / static_cast<double>(c.rows)},
        {"gbs", Gbs(r)},      {"copy_cv", r.copy_cv}, {"again", r.again},
        {"ratios", r.ratios}, {"instead", r.instead}};
    if (c.channels != 0) row["channels"] = c.channels, row["groups"] = c.groups;
    if (r.loads_ns != 0.0) row["loads_ns"] = r.loads_ns;
    json["results"].push_back(std::move(row));
  }
  json["goals"] = nlohmann::ordered_json::array();
  for (const GoalResult& goal : goals) {
    json["goals"].push_back({{"id", goal.id},
                             {"text", goal.text},
                             {"wanted", goal.wanted},
                             {"measured", goal.measured},
                             {"holds", goal.holds}});
  }
  return JsonLine(json);
}

std::string Table(const std::vector<CaseResult>& results, const std::vector<NormPeer>& peers, int threads,
                  const std::vector<GoalResult>& goals) {
  char line[256];
  std::string text = CpuName() + ", target " + HostJson(threads)["target"].get<std::string>() + "\n";
  for (const NormPeer& peer : peers) text += peer.description() + "\n";
  std::snprintf(line, sizeof line, "%-20s %-4s %5s %8s %2s %-12s %10s %7s %6s %5s", "operation", "type", "rows", "cols",
                "t", "cache", "ns/row", "GB/s", "copy", "A/A");
  text += line;
  for (const NormPeer& peer : peers) {
    std::snprintf(line, sizeof line, " %8s", peer.name().c_str());
    text += line;
  }
  text += "\n";
  bool noisy = false;
  for (const CaseResult& r : results) {
    const NormCase& c = r.which;
    noisy = noisy || r.copy_cv > 0.05;
    std::snprintf(line, sizeof line, "%-20s %-4s %5zu %8zu %2zu %-12s %10.1f %7.2f %5.2f%s %5.2f", c.OpName().c_str(),
                  TypeName(c), c.rows, c.cols, c.threads, CacheModeName(c.cache),
                  r.ns.median / static_cast<double>(c.rows), Gbs(r), r.ratios.at("copy"), r.copy_cv > 0.05 ? "!" : " ",
                  r.again);
    text += line;
    for (const NormPeer& peer : peers) {
      const auto found = r.ratios.find(peer.name());
      const bool instead = std::any_of(r.instead.begin(), r.instead.end(),
                                       [&](const std::string& s) { return s.starts_with(peer.name() + " "); });
      if (found == r.ratios.end()) {
        std::snprintf(line, sizeof line, " %8s", "-");
      } else {
        std::snprintf(line, sizeof line, " %7.2f%s", found->second, instead ? "*" : " ");
      }
      text += line;
    }
    text += "\n";
  }
  text +=
      "copy: share of a copy with the same bytes. Peers: their time over Prenorm's; * runs LayerNorm, having no "
      "RMSNorm.\n";
  if (noisy) text += "! the copy itself varied by more than 5 %: the machine was not quiet.\n";
  if (!goals.empty()) text += "\n";
  for (const GoalResult& goal : goals) {
    std::snprintf(line, sizeof line, "%s %-52s %6.2f, wanted %5.2f: %s\n", goal.id.c_str(), goal.text.c_str(),
                  goal.measured, goal.wanted, goal.holds ? "holds" : "MISSED");
    text += line;
  }
  return text;
}

}  // namespace

int RunNormsBench(const Options& options) {
  if (options.rounds < 1) return Fail(OutOfRange("--rounds", options.rounds, "1 or more"));
  if (Status status = CheckThreads(options.threads); !status.ok()) return Fail(status);
  const int threads = options.threads == 0 ? DefaultThreads().threads : static_cast<int>(options.threads);
  std::vector<NormPeer> peers;
  for (const std::string& path : options.peers) {
    Result<NormPeer> peer = NormPeer::Load(path);
    if (!peer.ok()) return Fail(peer.status());
    peers.push_back(*std::move(peer));
  }
  // Two at least: another core writes the x of dirty-x.
  PinThreads(std::max<size_t>(2, static_cast<size_t>(threads)));
  const bool full = options.grid == "full";
  const auto all = static_cast<size_t>(threads);
  std::vector<CaseResult> results;
  for (const NormCase& c : full ? GridCases(all) : GoalCases(all)) {
    const size_t width = c.channels == 0 ? c.cols : c.Space();
    if (width > static_cast<size_t>(options.cols_max)) continue;
    Result<CaseResult> result = MeasureCase(c, peers, all, static_cast<size_t>(options.rounds));
    if (!result.ok()) return Fail(result.status());
    results.push_back(*std::move(result));
  }
  // Goals speak of their own cases; a full grid has others that would match them.
  const std::vector<GoalResult> goals = full ? std::vector<GoalResult>() : GoalResults(results);
  return PrintAnswer(options.json ? Json(results, peers, threads, goals) : Table(results, peers, threads, goals));
}

}  // namespace prenorm::tools
