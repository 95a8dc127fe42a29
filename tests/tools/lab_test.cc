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
#include "tools/lab/model_run.h"
#include "tools/lab/stored.h"

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

// Measured once for all tests.
const LabTable& Measured(const Experiment& experiment, uint64_t seed) {
  static std::map<std::pair<std::string, uint64_t>, LabTable> tables;
  const auto [place, inserted] = tables.try_emplace({experiment.name, seed});
  if (inserted && experiment.measure != nullptr) place->second = experiment.measure(seed);
  if (inserted && experiment.measure_model != nullptr) {
    tools::Options options;
    options.model = TinyModel();
    static const Result<tools::LabModel> model = tools::OpenLabModel(options);
    Result<LabTable> table = experiment.measure_model(*model);
    EXPECT_TRUE(table.ok()) << table.status().message();
    if (table.ok()) place->second = std::move(table).value();
  }
  return place->second;
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
      {"depth-variance", [](LabTable& t) { Set(t, "32", "Fixup, m = 2", 40); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "Fixup, m = 3", 40); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "SkipInit", 2); }},
      {"depth-variance", [](LabTable& t) { Set(t, "64", "LayerScale", 2); }},
      {"batch-norm-dropout", [](LabTable& t) { Set(t, "0.3", "running variance", 1); }},
      {"batch-norm-dropout", [](LabTable& t) { Set(t, "0.5", "deviation, eval", 1); }},
      {"batch-norm-dropout", [](LabTable& t) { Set(t, "0", "deviation, eval", 0.7); }},
      {"batch-norm-shards", [](LabTable& t) { Set(t, "64", "apart", 1e-6); }},
      {"batch-norm-shards", [](LabTable& t) { Set(t, "8", "merged", 0.1); }},
      {"batch-norm-shards", [](LabTable& t) { Set(t, "2", "apart, unshuffled", 0); }},
      {"gradient-depth", [](LabTable& t) { Set(t, "64", "post-LN, whole", t.At("4", "post-LN, whole")); }},
      {"gradient-depth", [](LabTable& t) { Set(t, "64", "pre-LN, whole", 100 * t.At("4", "pre-LN, whole")); }},
      {"gradient-depth", [](LabTable& t) { Set(t, "64", "pre-LN, last", t.At("4", "pre-LN, last")); }},
      {"gradient-depth", [](LabTable& t) { Set(t, "64", "post-LN, first", t.At("64", "post-LN, last")); }},
      {"gradient-depth", [](LabTable& t) { Set(t, "64", "pre-LN, first", 0.1); }},
      {"deep-norm", [](LabTable& t) { Set(t, "1000", "DeepNorm, step", 0.5); }},
      {"deep-norm", [](LabTable& t) { Set(t, "1000", "DeepNorm, first/last", 0.01); }},
      {"deep-norm", [](LabTable& t) { Set(t, "1000", "post-LN, first/last", 1); }},
      {"deep-norm", [](LabTable& t) { Set(t, "1000", "post-LN, step", 0.01); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "default", 0.1); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "Xavier", 0.5); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "He", 1e-9); }},
      {"initialization", [](LabTable& t) { Set(t, "32", "default, LN", 1e-9); }},
      {"initialization", [](LabTable& t) { Set(t, "16", "Xavier, BN", 7); }},
      {"batch-norm-folding",
       [](LabTable& t) {
         for (tools::LabRow& row : t.rows) row.values[3] = row.values[2];  // Nor behind the norm.
       }},
      {"gain-folding",
       [](LabTable& t) {
         for (tools::LabRow& row : t.rows) row.values[3] = row.values[2];  // Folding costs nothing after all.
       }},
  };
  return flips;
}

void SetColumn(LabTable& table, const char* column, const std::function<double(size_t)>& value) {
  for (size_t i = 0; i < table.rows.size(); ++i) Set(table, table.rows[i].label.c_str(), column, value(i));
}

// What a model says, or a clock, is not known beforehand: data that make the claim hold, and what then spoils them.
struct Staged {
  Flip hold;
  std::vector<Flip> flips;
};
// Folding that costs nothing anywhere, and that costs something at one cell.
Staged Folding(const std::vector<std::pair<const char*, const char*>>& apart_and_folded) {
  Staged staged;
  staged.hold = [=](LabTable& t) {
    for (const auto& [apart, folded] : apart_and_folded) {
      for (const tools::LabRow& row : t.rows) {
        Set(t, row.label.c_str(), folded, row.label == "F32" ? 1e-7 : t.At(row.label, apart));
      }
    }
  };
  for (const auto& [apart, folded] : apart_and_folded) {
    for (const DType type : tools::kStoredTypes) {
      const std::string label = InfoOf(type).name;
      staged.flips.push_back([=, apart = apart, folded = folded](LabTable& t) {
        Set(t, label.c_str(), folded, label == "F32" ? 1e-3 : 1.3 * t.At(label, apart));
      });
    }
  }
  return staged;
}

const std::map<std::string, Staged>& StagedFlips() {
  const auto same = [](double value) { return [value](size_t) { return value; }; };
  const auto depth = [](size_t i) { return static_cast<double>(i + 1); };
  static const std::map<std::string, Staged> flips = {
      {"batch-norm-folding", Folding({{"before, apart", "before, folded"}, {"behind, apart", "behind, folded"}})},
      {"gain-folding", Folding({{"apart, even", "folded, even"}, {"apart, uneven", "folded, uneven"}})},
      {"stream-depth",
       {[=](LabTable& t) {
          SetColumn(t, "variance", depth);
          SetColumn(t, "block adds", [=](size_t i) { return 1 / depth(i); });
        },
        {[=](LabTable& t) { SetColumn(t, "variance", same(1)); },
         [=](LabTable& t) { SetColumn(t, "block adds", same(0.3)); }}}},
      {"final-norm",
       {[](LabTable& t) {
          Set(t, "none", "logit spread", 10 * t.At("as trained", "logit spread"));
          Set(t, "none", "KL", 5);
        },
        {[](LabTable& t) { Set(t, "none", "logit spread", t.At("as trained", "logit spread")); },
         [](LabTable& t) { Set(t, "none", "KL", 0); }}}},
      {"eps",
       {[=](LabTable& t) {
          SetColumn(t, "KL", same(1e-6));
          Set(t, "1e-6, outside", "KL", 0.1);
        },
        {[](LabTable& t) { Set(t, "1e-6, outside", "KL", 1e-6); },
         [](LabTable& t) { Set(t, "its own", "KL", 0.09); }}}},
      {"centring",
       {[=](LabTable& t) {
          SetColumn(t, "|mean| / RMS", same(0.01));
          SetColumn(t, "KL, other kind", same(0.001));
        },
        {[](LabTable& t) { Set(t, "all", "|mean| / RMS", 0.5); },
         [](LabTable& t) { Set(t, "1 ffn_norm", "KL, other kind", 0.5); },
         [](LabTable& t) { Set(t, "all", "KL, other kind", 0.5); }}}},
      {"norm-time",
       {[=](LabTable& t) { SetColumn(t, "saved", same(0.3)); },
        {[](LabTable& t) { Set(t, "512", "saved", 0); }, [](LabTable& t) { Set(t, "a token", "saved", 0.01); }}}},
  };
  return flips;
}

TEST(LabTest, VerdictsFlipWithStagedData) {
  for (const auto& [name, staged] : StagedFlips()) {
    SCOPED_TRACE(name);
    const Experiment& experiment = Named(name);
    LabTable table = Measured(experiment, 1);
    staged.hold(table);
    EXPECT_TRUE(experiment.judge(table).holds());
    for (const Flip& flip : staged.flips) {
      LabTable flipped = table;
      flip(flipped);
      EXPECT_FALSE(experiment.judge(flipped).holds());
    }
  }
}

TEST(LabTest, VerdictsFlipWithTheData) {
  for (const std::string& name : Names()) EXPECT_GE(Flips().count(name) + StagedFlips().count(name), 1u) << name;
  for (const auto& [name, flip] : Flips()) {
    SCOPED_TRACE(name);
    const Experiment& experiment = Named(name);
    LabTable table = Measured(experiment, 1);
    const bool before = experiment.judge(table).holds();
    flip(table);
    EXPECT_NE(experiment.judge(table).holds(), before);
  }
}

TEST(LabTest, DataThatAreMissingOrNotANumberHoldNothing) {
  for (const Experiment& experiment : tools::Experiments()) {
    SCOPED_TRACE(experiment.name);
    LabTable table = Measured(experiment, 1);
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
    if (experiment.measure == nullptr) continue;
    SCOPED_TRACE(experiment.name);
    EXPECT_EQ(experiment.judge(Measured(experiment, 1)).holds(), experiment.judge(Measured(experiment, 2)).holds());
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
  const CommandResult all = RunCommand({"lab", "--json", "--seed", "7", "-m", TinyModel()});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const json object = json::parse(all.out);
  EXPECT_EQ(object.at("seed"), 7);
  ASSERT_EQ(object.at("results").size(), Names().size());
  for (size_t i = 0; i < Names().size(); ++i) {
    const json& result = object.at("results")[i];
    EXPECT_EQ(result.at("id"), Names()[i]);
    bool holds = true;
    for (const json& finding : result.at("findings")) holds = holds && finding.at("holds").get<bool>();
    EXPECT_EQ(result.at("holds"), holds);
    for (const json& row : result.at("rows")) EXPECT_EQ(row.at("values").size(), result.at("columns").size());
  }
  const json again = json::parse(RunCommand({"lab", "all", "--json", "--seed", "7", "-m", TinyModel()}).out);
  for (size_t i = 0; i < Names().size(); ++i) {
    if (tools::Experiments()[i].times) continue;
    EXPECT_EQ(again.at("results").at(i), object.at("results").at(i)) << Names()[i];
  }
  const json other = json::parse(RunCommand({"lab", "groups", "--json", "--seed", "8"}).out);
  EXPECT_EQ(other.at("results").size(), 1u);
  EXPECT_NE(other.at("results")[0].at("rows"), object.at("results")[2].at("rows"));
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

TEST(LabTest, TheCommandSaysWhichModelItLooksAt) {
  const TemporaryFolder folder;
  const std::string cache = "XDG_CACHE_HOME=" + folder.path("");
  const CommandResult tiny =
      RunCommand({"lab", "final-norm"}, {.environment = {cache}, .working_folder = PRENORM_SOURCE_DIR});
  EXPECT_EQ(tiny.exit_code, 0) << tiny.err;
  EXPECT_NE(tiny.err.find("use the tiny one"), std::string::npos) << tiny.err;
  EXPECT_NE(tiny.out.find("  model     "), std::string::npos) << tiny.out;
  const CommandResult named = RunCommand({"lab", "final-norm", "-m", TinyModel()});
  EXPECT_EQ(named.err, "");
  EXPECT_EQ(named.out, tiny.out);
  EXPECT_EQ(RunCommand({"lab", "final-norm", "-m", folder.path("none.gguf")}).exit_code, 3);
  EXPECT_EQ(RunCommand({"lab", "final-norm", "-t", "-1"}).exit_code, 2);
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
