// prenorm bench, profile and inspect from outside: their JSON, and sums that must add up.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(MeasureCliTest, BenchHasTheFieldsThatScriptsRelyOn) {
  const CommandResult result = RunCommand({"bench", TinyModel(), "--tests", "pp16,tg4,tg4@d16", "--probe-mb", "16", "--json"});
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

TEST(MeasureCliTest, ProfileRowsAddUpToTheWhole) {
  for (const char* threads : {"1", "2"}) {
    const CommandResult result =
        RunCommand({"profile", TinyModel(), "--prefill", "24", "--decode", "6", "-t", threads, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json object = json::parse(result.out);
    for (const char* name : {"prefill", "decode"}) {
      const json& phase = object.at("phases").at(name);
      double sum = phase.at("unattributed_share").get<double>(), norm = 0;
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
  }
}

TEST(MeasureCliTest, ProfilePrintsTheNormShareOfBothPhases) {
  const CommandResult result = RunCommand({"profile", TinyModel(), "--prefill", "8", "--decode", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"% of prefill (", "% of decode (", "barrier", "unattributed", "attn_norm", "final_norm"}) {
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
