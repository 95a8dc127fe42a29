// Reads the JSON of two runs; layers are added up, because single ones are mostly noise.
#include "tools/profile/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "tools/common/host.h"
#include "tools/common/prompt.h"
#include "tools/profile/report.h"

namespace prenorm::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Times {
  double ns = 0, low = 0, high = 0;  // A token.
};
using Rows = std::map<std::pair<std::string, std::string>, Times>;

struct Change {
  std::string kind, site;
  Times a, b;
  double change() const { return b.ns - a.ns; }
  // Outside what both runs' repetitions spread over.
  bool certain() const { return b.low > a.high || b.high < a.low; }
};

Status NoProfile(const std::string& path, const std::string& why) {
  return Status(StatusCode::kInvalidArgument, "A file is no result of a profile.\n" + path + ": " + why +
                                                  "\nMake one: prenorm profile MODEL --json > " + path);
}

Result<Json> Load(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("phases") && json["phases"].is_object()) return json;
  return NoProfile(path, "expected the JSON object of `prenorm profile --json`");
}

Rows RowsOf(const Json& phase) {
  Rows rows;
  const double tokens = phase.value("tokens", 1.0);
  for (const Json& row : phase.value("rows", Json::array())) {
    Times& times = rows[{row.value("kind", ""), row.value("site", "")}];
    const double ns = row.value("ns", 0.0);
    times.ns += ns / tokens;
    times.low += row.value("p10_ns", ns) / tokens;
    times.high += row.value("p90_ns", ns) / tokens;
  }
  return rows;
}

std::vector<Change> Changes(const Json& a, const Json& b) {
  const Rows rows_a = RowsOf(a), rows_b = RowsOf(b);
  std::map<std::pair<std::string, std::string>, Change> changes;
  for (const auto& [key, times] : rows_a) changes[key].a = times;
  for (const auto& [key, times] : rows_b) changes[key].b = times;
  std::vector<Change> sorted;
  for (auto& [key, change] : changes) {
    change.kind = key.first;
    change.site = key.second;
    sorted.push_back(change);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Change& x, const Change& y) { return std::abs(x.change()) > std::abs(y.change()); });
  return sorted;
}

double TokenNs(const Json& phase) { return phase.value("wall_ns", 0.0) / std::max(1.0, phase.value("tokens", 1.0)); }

std::string Line(const char* name, const char* site, double a, double b, const char* remark) {
  char text[200];
  std::snprintf(text, sizeof text, "  %-10s %-14s %12s %12s %12s %+8.1f %%  %s\n", name, site, TimeText(a).c_str(),
                TimeText(b).c_str(), TimeText(b - a).c_str(), a > 0 ? 100 * (b - a) / a : 0.0, remark);
  return text;
}

std::string PhaseText(const std::string& name, const Json& a, const Json& b) {
  std::string text = "\n" + name + ", a token\n" + Line("whole", "", TokenNs(a), TokenNs(b), "");
  for (const char* share : {"norm_share", "residual_share", "barrier_share", "idle_share", "unattributed_share"}) {
    char line[120];
    std::snprintf(line, sizeof line, "  %-25s %10.2f %% %10.2f %%\n", share, 100 * a.value(share, 0.0),
                  100 * b.value(share, 0.0));
    text += line;
  }
  for (const Change& change : Changes(a, b)) {
    text += Line(change.kind.c_str(), change.site.c_str(), change.a.ns, change.b.ns,
                 change.certain() ? "" : "within the spread");
  }
  return text;
}

Json PhaseJson(const Json& a, const Json& b) {
  Json rows = Json::array();
  for (const Change& change : Changes(a, b)) {
    rows.push_back({{"kind", change.kind},
                    {"site", change.site},
                    {"a_ns", change.a.ns},
                    {"b_ns", change.b.ns},
                    {"change_ns", change.change()},
                    {"certain", change.certain()}});
  }
  return {{"a_token_ns", TokenNs(a)},
          {"b_token_ns", TokenNs(b)},
          {"a_norm_share", a.value("norm_share", 0.0)},
          {"b_norm_share", b.value("norm_share", 0.0)},
          {"rows", rows}};
}

}  // namespace

Result<std::string> DiffProfiles(const std::string& path_a, const std::string& path_b, bool as_json) {
  const Result<Json> a = Load(path_a), b = Load(path_b);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  Json json = NewJson(0);
  std::string text = "a: " + path_a + "\nb: " + path_b + "\n";
  try {
    for (const auto& [name, phase] : (*a)["phases"].items()) {
      if (!(*b)["phases"].contains(name)) continue;
      const Json& other = (*b)["phases"][name];
      if (as_json)
        json["phases"][name] = PhaseJson(phase, other);
      else
        text += PhaseText(name, phase, other);
    }
  } catch (const Json::exception& error) {  // A field of another type.
    return NoProfile(path_a + " or " + path_b, error.what());
  }
  return as_json ? JsonLine(json) : text;
}

}  // namespace prenorm::tools
