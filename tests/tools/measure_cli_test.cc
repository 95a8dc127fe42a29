// prenorm bench, profile and inspect from outside: their JSON, and sums that must add up.
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(MeasureCliTest, BenchHasTheFieldsThatScriptsRelyOn) {
  const CommandResult result =
      RunCommand({"bench", TinyModel(), "--tests", "pp16,tg4,tg4@d16", "--probe-mb", "16", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("host").at("threads"), 1);
  ASSERT_EQ(object.at("results").size(), 3u);
  EXPECT_EQ(object.at("results")[2].at("test"), "tg4@d16");
  for (const json& row : object.at("results")) {
    EXPECT_EQ(row.at("runs"), 5);
    EXPECT_GT(row.at("median_ts").get<double>(), 0);
    EXPECT_LE(row.at("p10_ts").get<double>(), row.at("median_ts").get<double>());
    EXPECT_GE(row.at("p90_ts").get<double>(), row.at("median_ts").get<double>());
    EXPECT_GT(row.at("probe_gbs").get<double>(), 0);
    EXPECT_EQ(row.contains("gbs"), row.at("test").get<std::string>().starts_with("tg"));
  }
}

TEST(MeasureCliTest, BenchPrintsTables) {
  const std::vector<std::string> bench = {"bench", TinyModel(), "--tests", "pp4", "--probe-mb", "16", "--format"};
  std::vector<std::string> csv = bench, md = bench;
  csv.push_back("csv");
  md.push_back("md");
  EXPECT_TRUE(RunCommand(csv).out.starts_with("model,type,")) << RunCommand(csv).out;
  EXPECT_TRUE(RunCommand(md).out.starts_with("| model | ")) << RunCommand(md).out;
}

std::vector<std::string> ShortProfile(std::initializer_list<std::string> more) {
  std::vector<std::string> arguments = {"profile", TinyModel(), "--prefill", "24", "--decode", "6", "--probe-mb", "16"};
  arguments.insert(arguments.end(), more);
  return arguments;
}

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

TEST(MeasureCliTest, ProfileRowsAddUpToTheWhole) {
  for (const char* threads : {"1", "2"}) {
    const CommandResult result = RunCommand(ShortProfile({"-t", threads, "--json"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json object = json::parse(result.out);
    for (const char* name : {"prefill", "decode"}) {
      const json& phase = object.at("phases").at(name);
      double sum = phase.at("unattributed_share").get<double>() + phase.at("timer_share").get<double>(), norm = 0;
      for (const json& row : phase.at("rows")) {
        sum += row.at("share").get<double>();
        if (row.at("kind") == "norm") norm += row.at("share").get<double>();
      }
      EXPECT_NEAR(sum, 1.0, 1e-9);
      EXPECT_NEAR(norm, phase.at("norm_share").get<double>(), 1e-9);
      EXPECT_GT(norm, 0);
      EXPECT_LT(norm, 1);
    }
    EXPECT_EQ(object.at("phases").at("prefill").at("tokens"), 24);
    EXPECT_EQ(object.at("phases").at("decode").at("tokens"), 6);
    EXPECT_EQ(object.at("host").at("threads").dump(), threads);
  }
}

TEST(MeasureCliTest, ProfileHasTheFieldsThatScriptsRelyOn) {
  const CommandResult result = RunCommand(ShortProfile({"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  const std::set<std::string> bounds = {"memory", "latency", "compute", "wait"};
  for (const char* name : {"prefill", "decode"}) {
    const json& phase = object.at("phases").at(name);
    for (const char* field : {"tokens", "depth", "wall_ns", "p10_ns", "p90_ns", "unattributed_share", "norm_share",
                              "residual_share", "overhead_share", "overhead_off_share", "timer_share"}) {
      EXPECT_TRUE(phase.at(field).is_number()) << field;
    }
    EXPECT_TRUE(phase.at("slowest_norm").at("site").is_string());
    ASSERT_FALSE(phase.at("rows").empty());
    for (const json& row : phase.at("rows")) {
      EXPECT_TRUE(row.at("kind").is_string() && row.at("site").is_string() && row.at("layer").is_number_integer());
      EXPECT_GT(row.at("calls").get<int64_t>(), 0);
      EXPECT_GE(row.at("ns").get<double>(), 0);
      EXPECT_EQ(row.at("bytes").get<int64_t>() > 0, row.at("kind") != "barrier" && row.at("kind") != "idle") << row;
      EXPECT_TRUE(row.at("flops").is_number_unsigned());
      EXPECT_EQ(bounds.count(row.at("bound")), 1u) << row;
    }
  }
  for (const char* rate : {"memory_bytes_s", "cache_bytes_s", "product_flops_s", "f32_flops_s"}) {
    EXPECT_GT(object.at("roofline").at(rate).get<double>(), 0) << rate;
  }
  EXPECT_GT(object.at("timer").at("whole_ns").get<double>(), 0);
}

TEST(MeasureCliTest, ProfileWritesItsFiles) {
  TemporaryFolder folder;
  const CommandResult result = RunCommand(
      ShortProfile({"--svg", folder.path("p.svg"), "--html", folder.path("p.html"), "--trace", folder.path("p.json")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(Content(folder.path("p.svg")).starts_with("<svg "));
  EXPECT_TRUE(Content(folder.path("p.html")).starts_with("<!DOCTYPE html>"));
  EXPECT_GT(json::parse(Content(folder.path("p.json"))).at("traceEvents").size(), 100u);
  const CommandResult nowhere = RunCommand(ShortProfile({"--svg", folder.path("no/such/folder.svg")}));
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_NE(nowhere.err.find("no/such/folder.svg"), std::string::npos) << nowhere.err;
}

TEST(MeasureCliTest, ProfileSweepsThreadsAndDepthsAndTakesAPrompt) {
  const CommandResult result = RunCommand(
      ShortProfile({"-t", "1,2", "--depth", "0,40", "-p", "Once upon a time there was a small boat.", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  ASSERT_EQ(object.at("sweep").size(), 4u);
  EXPECT_EQ(object.at("sweep")[0].at("threads"), 1);
  EXPECT_EQ(object.at("sweep")[3].at("threads"), 2);
  EXPECT_EQ(object.at("sweep")[3].at("depth"), 40);
  EXPECT_EQ(object.at("phases").at("decode").at("depth"), 0);
  EXPECT_NE(object.at("phases").at("prefill").at("tokens"), 24);
  for (const char* bad : {"0", "1,,2", "two"}) {
    const CommandResult refused = RunCommand(ShortProfile({"-t", bad}));
    EXPECT_EQ(refused.exit_code, 2) << bad;
    EXPECT_NE(refused.err.find("--threads"), std::string::npos) << refused.err;
  }
}

TEST(MeasureCliTest, ProfileAnswersWhatIfAndComparesNorms) {
  const CommandResult result =
      RunCommand(ShortProfile({"--what-if", "norm=0", "--what-if", "norm=layernorm", "--unfuse", "--norms"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"what if norm=0: ", "what if layernorm: ", "what if fused: ", "nothing fused", "residual",
                           "LayerNorm, two passes", "RMSNorm is 7 to 64 % cheaper than LayerNorm"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  const CommandResult unknown = RunCommand(ShortProfile({"--what-if", "norm=fast"}));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("norm=layernorm"), std::string::npos) << unknown.err;
}

// Two profiles of one row each, the second slower there by far more than its spread.
std::string SmallProfile(double ns) {
  const auto number = [](double value) { return std::to_string(value); };
  return R"({"schema": 1, "phases": {"decode": {"tokens": 10, "wall_ns": )" + number(ns * 10) +
         R"(, "norm_share": 0.1, "rows": [{"kind": "norm", "site": "ffn_norm", "layer": 3, "ns": )" + number(ns) +
         R"(, "p10_ns": )" + number(ns * 0.99) + R"(, "p90_ns": )" + number(ns * 1.01) + "}]}}}";
}

TEST(MeasureCliTest, ProfileDiffNamesWhatChanged) {
  TemporaryFolder folder;
  const std::string a = folder.Write("a.json", SmallProfile(1000)), b = folder.Write("b.json", SmallProfile(3000));
  const CommandResult text = RunCommand({"profile", "diff", a, b});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("ffn_norm"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("+200.0 %"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("within the spread"), std::string::npos) << text.out;
  EXPECT_NE(RunCommand({"profile", "diff", a, a}).out.find("within the spread"), std::string::npos);
  const json object = json::parse(RunCommand({"profile", "diff", a, b, "--json"}).out);
  const json& row = object.at("phases").at("decode").at("rows")[0];
  EXPECT_NEAR(row.at("change_ns").get<double>(), 200, 1e-6);
  EXPECT_EQ(row.at("certain"), true);

  EXPECT_EQ(RunCommand({"profile", "diff", a}).exit_code, 2);
  for (const char* bad : {"{}", "[1]", "not json", R"({"phases": {"decode": {"tokens": "ten"}}})"}) {
    const CommandResult refused = RunCommand({"profile", "diff", a, folder.Write("bad.json", bad)});
    EXPECT_EQ(refused.exit_code, 2) << bad;
    EXPECT_NE(refused.err.find("bad.json"), std::string::npos) << refused.err;
  }
}

TEST(MeasureCliTest, ProfileShortensItsPromptToTheContextOfTheModel) {
  const CommandResult result = RunCommand({"profile", TinyModel(), "--decode", "4", "--runs", "1", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("a prompt of 508"), std::string::npos) << result.out;
}

TEST(MeasureCliTest, ProfilePrintsTheNormShareOfBothPhases) {
  const CommandResult result = RunCommand(ShortProfile({}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"% of prefill (", "% of decode (", "barrier", "unattributed", "attn_norm", "final_norm",
                           "overhead: off", "GFLOP/s", "bound by", "slowest norm: "}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
}

TEST(MeasureCliTest, InspectDescribesTheModel) {
  const CommandResult result = RunCommand({"inspect", TinyModel(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("architecture"), "llama");
  EXPECT_EQ(object.at("supported"), true);
  EXPECT_NE(RunCommand({"inspect", TinyModel()}).out.find("llama"), std::string::npos);
}

}  // namespace
}  // namespace prenorm
