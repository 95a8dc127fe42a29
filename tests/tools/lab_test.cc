// prenorm lab: verdicts follow the data, the same seed gives the same figures, and the command reports both.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"
#include "tools/common/options.h"
#include "tools/lab/experiment.h"

namespace prenorm {
namespace {

using nlohmann::json;
using tools::Experiment;
using tools::LabTable;

const Experiment& Named(const std::string& name) {
  for (const Experiment& experiment : tools::Experiments()) {
    if (name == experiment.name) return experiment;
  }
  ADD_FAILURE() << name;
  return tools::Experiments().front();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Experiment& experiment : tools::Experiments()) names.push_back(experiment.name);
  return names;
}

void Set(LabTable& table, const char* label, const char* column, double value) {
  double* cell = table.Cell(label, column);
  ASSERT_NE(cell, nullptr) << label << ", " << column;
  *cell = value;
}

// Data that say the opposite of what was measured.
using Flip = std::function<void(LabTable&)>;
const std::multimap<std::string, Flip>& Flips() {
  static const std::multimap<std::string, Flip> flips = {
      {"invariance", [](LabTable& t) { Set(t, "x * 7 - 5", "LayerNorm, eps 0", 0.5); }},
      {"invariance", [](LabTable& t) { Set(t, "weights * 7", "RMSNorm, eps 0", 0.5); }},
      {"invariance", [](LabTable& t) { Set(t, "x + 3", "RMSNorm, eps 0", 0.0); }},
      {"invariance", [](LabTable& t) { Set(t, "x * 0.001", "LayerNorm, eps 1e-5", 0.0); }},
      {"accumulation", [](LabTable& t) { Set(t, "16384", "bf16 sum", 1e-7); }},
      {"accumulation", [](LabTable& t) { Set(t, "64", "bf16 sum", 1.0); }},
      {"accumulation", [](LabTable& t) { Set(t, "256", "InvRms, lanes", 1e-3); }},
      {"groups", [](LabTable& t) { Set(t, "1", "from LayerNorm", 0.1); }},
      {"groups", [](LabTable& t) { Set(t, "32", "from InstanceNorm", 0.1); }},
      {"groups", [](LabTable& t) { Set(t, "8", "from InstanceNorm", 10); }},
      {"batch-norm", [](LabTable& t) { Set(t, "1", "refused", 0); }},
      {"batch-norm", [](LabTable& t) { Set(t, "128", "error of mean", 5); }},
      {"batch-norm", [](LabTable& t) { Set(t, "4", "train - eval", 0.001); }},
      {"batch-norm", [](LabTable& t) { Set(t, "64", "effect on others", 0); }},
      {"running-statistics", [](LabTable& t) { Set(t, "8", "start left", 0); }},
      {"running-statistics", [](LabTable& t) { Set(t, "8", "start left, each twice", 0.43); }},
      {"backward", [](LabTable& t) { Set(t, "64", "kernel", 0.3); }},
      {"backward", [](LabTable& t) { Set(t, "16", "no mean term", 0); }},
      {"backward", [](LabTable& t) { Set(t, "4096", "no x_hat term", 0); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "plain", 65); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "pre-LN", 2e9); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "BatchNorm", 1.5); }},
      {"depth-variance", [](LabTable& t) { Set(t, "32", "Fixup", 40); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "SkipInit", 2); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "LayerScale", 2); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "default", 0.1); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "Xavier", 0.5); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "He", 1e-9); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "default, LN", 1e-9); }},
      {"initialization", [](LabTable& t) { Set(t, "16", "Xavier, BN", 7); }},
      {"gain-folding",
       [](LabTable& t) {
         for (tools::LabRow& row : t.rows) row.values[3] = row.values[2];  // Folding costs nothing after all.
       }},
  };
  return flips;
}

TEST(LabTest, VerdictsFlipWithTheData) {
  for (const std::string& name : Names()) EXPECT_GE(Flips().count(name), 1u) << name;
  std::map<std::string, LabTable> measured;
  for (const auto& [name, flip] : Flips()) {
    SCOPED_TRACE(name);
    const Experiment& experiment = Named(name);
    if (!measured.contains(name)) measured[name] = experiment.measure(1);
    LabTable table = measured[name];
    const bool before = experiment.judge(table).holds();
    flip(table);
    EXPECT_NE(experiment.judge(table).holds(), before);
  }
}

TEST(LabTest, DataThatAreMissingOrNotANumberHoldNothing) {
  for (const Experiment& experiment : tools::Experiments()) {
    SCOPED_TRACE(experiment.name);
    LabTable table = experiment.measure(1);
    for (tools::LabRow& row : table.rows) {
      for (double& value : row.values) value = std::numeric_limits<double>::quiet_NaN();
    }
    EXPECT_FALSE(experiment.judge(table).holds());
    table.columns.clear();
    EXPECT_FALSE(experiment.judge(table).holds());
  }
}

TEST(LabTest, VerdictsDoNotHangOnTheSeed) {
  for (const Experiment& experiment : tools::Experiments()) {
    SCOPED_TRACE(experiment.name);
    EXPECT_EQ(experiment.judge(experiment.measure(1)).holds(), experiment.judge(experiment.measure(2)).holds());
  }
}

TEST(LabTest, FitsExponents) {
  EXPECT_NEAR(tools::FittedExponent({1, 2, 4, 8}, {3, 12, 48, 192}), 2.0, 1e-12);
  EXPECT_NEAR(tools::FittedExponent({1, 100}, {5, 0.5}), -0.5, 1e-12);
  EXPECT_TRUE(std::isnan(tools::FittedExponent({1, 2}, {1, 0})));
  EXPECT_TRUE(std::isnan(tools::FittedExponent({1}, {1})));
}

TEST(LabTest, TheOptionTableNamesEveryExperiment) {
  std::string choices = "all";
  for (const std::string& name : Names()) choices += "|" + name;
  bool found = false;
  for (const tools::OptionSpec& spec : tools::OptionTable()) {
    if (spec.commands != tools::kLab || std::string(spec.names) != "NAME") continue;
    found = true;
    EXPECT_EQ(spec.choices, choices);
  }
  EXPECT_TRUE(found);
}

TEST(LabTest, TheCommandRunsAllAndTheSameSeedGivesTheSameFigures) {
  const CommandResult all = RunCommand({"lab", "--json", "--seed", "7"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const json object = json::parse(all.out);
  EXPECT_EQ(object.at("seed"), 7);
  ASSERT_EQ(object.at("experiments").size(), Names().size());
  for (size_t i = 0; i < Names().size(); ++i) {
    const json& result = object.at("experiments")[i];
    EXPECT_EQ(result.at("name"), Names()[i]);
    bool holds = true;
    for (const json& finding : result.at("findings")) holds = holds && finding.at("holds").get<bool>();
    EXPECT_EQ(result.at("holds"), holds);
    for (const json& row : result.at("rows")) EXPECT_EQ(row.at("values").size(), result.at("columns").size());
  }
  const json again = json::parse(RunCommand({"lab", "all", "--json", "--seed", "7"}).out);
  EXPECT_EQ(again.at("experiments"), object.at("experiments"));
  const json other = json::parse(RunCommand({"lab", "groups", "--json", "--seed", "8"}).out);
  EXPECT_EQ(other.at("experiments").size(), 1u);
  EXPECT_NE(other.at("experiments")[0].at("rows"), object.at("experiments")[2].at("rows"));
}

TEST(LabTest, TheCommandPrintsTablesAndVerdictsAndDrawsPictures) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand({"lab", "groups", "--svg", folder.path("new")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"claim", "Wu and He 2018", "from InstanceNorm", "verdict: holds here"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  EXPECT_EQ(result.out.find("invariance"), std::string::npos);
  std::ifstream file(folder.path("new/groups.svg"));
  std::ostringstream svg;
  svg << file.rdbuf();
  EXPECT_TRUE(svg.str().starts_with("<svg")) << svg.str();
  EXPECT_NE(svg.str().find("from InstanceNorm, 8: "), std::string::npos);
  const std::string in_the_way = folder.Write("file", "x");
  EXPECT_EQ(RunCommand({"lab", "groups", "--svg", in_the_way}).exit_code, 1);
}

TEST(LabTest, TheCommandListsExperimentsAndRefusesOthers) {
  const CommandResult list = RunCommand({"lab", "--list"});
  EXPECT_EQ(list.exit_code, 0);
  for (const Experiment& experiment : tools::Experiments()) {
    EXPECT_NE(list.out.find(experiment.claim), std::string::npos) << experiment.name;
  }
  EXPECT_EQ(RunCommand({"lab", "grups"}).exit_code, 2);
}

TEST(LabTest, TheLineagePageNamesEveryExperimentAndOnlyFilesThatExist) {
  const std::filesystem::path docs = std::filesystem::path(PRENORM_SOURCE_DIR) / "docs";
  std::ifstream file(docs / "lineage.md");
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string page = stream.str();
  for (const std::string& name : Names()) EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  size_t links = 0;
  for (size_t at = page.find("](../"); at != std::string::npos; at = page.find("](../", at + 1)) {
    const std::string path = page.substr(at + 2, page.find(')', at) - at - 2);
    EXPECT_TRUE(std::filesystem::exists(docs / path)) << path;
    ++links;
  }
  EXPECT_GT(links, 10u);
}

}  // namespace
}  // namespace prenorm
