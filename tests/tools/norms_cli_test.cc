// prenorm norms from outside, on short rows: every promise holds and the report adds up.
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(NormsCliTest, EveryPromiseHoldsOnShortRows) {
  const CommandResult result = RunCommand({"norms", "--accuracy", "--cols-max", "65", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  std::set<std::string> ops, rms_modes, gains;
  for (const json& row : object.at("results")) {
    SCOPED_TRACE(row.dump());
    ops.insert(row.at("op").get<std::string>());
    gains.insert(row.at("gain").get<std::string>());
    if (row.at("op") == "rms_norm") rms_modes.insert(row.at("mode").get<std::string>());
    EXPECT_EQ(row.at("holds"), true);
    EXPECT_EQ(row.at("cols_max"), 65);
    EXPECT_GT(row.at("values"), 10);
    EXPECT_LE(row.at("promise_used"), 1.0);
    EXPECT_LE(row.at("p999_ulp"), row.at("max_ulp"));
    EXPECT_GT(row.at("max_ulp"), 0.0) << "nothing is that exact: the comparison does not look";
    EXPECT_GT(row.at("correctly_rounded"), 0.3);
    double sum = 0;
    for (const json& share : row.at("histogram")) sum += share.get<double>();
    EXPECT_NEAR(sum, 1.0, 1e-9);
    EXPECT_TRUE(row.at("op") != "rms_norm" || row.at("out") != "f32" || row.at("max_ulp") <= 4.0);
  }
  EXPECT_EQ(ops,
            (std::set<std::string>{"rms_norm", "layer_norm", "residual_rms_norm", "residual_layer_norm", "group_norm",
                                   "instance_norm", "batch_norm_train", "batch_norm_eval", "softmax", "log_sum_exp"}));
  EXPECT_EQ(rms_modes, (std::set<std::string>{"lanes", "exact", "exact, no gain", "lanes, 1 + gain", "exact, 1 + gain",
                                              "eps outside", "cast llama", "cast gemma"}));
  EXPECT_EQ(gains, (std::set<std::string>{"none", "f32", "bf16"}));
}

TEST(NormsCliTest, MeasuresOneTargetWhereAsked) {
  const CommandResult doctor = RunCommand({"doctor", "--json"});
  const std::string best = json::parse(doctor.out).at("host").at("target");
  const CommandResult result = RunCommand({"norms", "--accuracy", "--cols-max", "8", "--target", best, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  for (const json& row : object.at("results")) EXPECT_EQ(row.at("target"), best);
}

TEST(NormsCliTest, PrintsAHistogram) {
  const CommandResult result = RunCommand({"norms", "--accuracy", "--cols-max", "8"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"<=0.5", "rms_norm", "holds", "f32 * f32 > bf16"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  EXPECT_EQ(RunCommand({"norms"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"norms", "--accuracy", "--bench"}).exit_code, 2);
}

TEST(NormsCliTest, TimesTheCasesOfTheGoals) {
  const CommandResult result =
      RunCommand({"norms", "--bench", "--cols-max", "128", "--rounds", "1", "--threads", "2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  ASSERT_EQ(object.at("results").size(), 2u) << "heads of 64 and 128";
  for (const json& row : object.at("results")) {
    SCOPED_TRACE(row.dump());
    EXPECT_EQ(row.at("op"), "rms_norm");
    EXPECT_EQ(row.at("dtype"), "f32");
    EXPECT_EQ(row.at("rows"), 32);
    EXPECT_EQ(row.at("threads"), 1);
    EXPECT_EQ(row.at("cache"), "hot");
    EXPECT_GT(row.at("ns"), 0.0);
    EXPECT_GT(row.at("copy_ns"), 0.0);
    EXPECT_TRUE(row.at("peers").empty());
  }
  EXPECT_TRUE(object.at("goals").empty()) << "these goals are about peers";
}

TEST(NormsCliTest, ComparesPeersBeforeTiming) {
  const CommandResult wrong =
      RunCommand({"norms", "--bench", "--cols-max", "64", "--rounds", "1", "--peer", PRENORM_WRONG_NORM_PEER});
  EXPECT_EQ(wrong.exit_code, 7);
  EXPECT_NE(wrong.err.find("wrong"), std::string::npos) << wrong.err;
  EXPECT_EQ(RunCommand({"norms", "--bench", "--threads", "99999"}).exit_code, 2);
  const CommandResult missing = RunCommand({"norms", "--bench", "--peer", "no/such/peer.so"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.err.find("no/such/peer.so"), std::string::npos) << missing.err;
}

TEST(NormsCliTest, ExportsTheRowsForOtherPrograms) {
  const TemporaryFolder folder;
  const std::string path = folder.path("rows.f32");
  const CommandResult result = RunCommand({"norms", "--accuracy", "--cols-max", "8", "--export-rows", path, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream index_file(path + ".json"), file(path, std::ios::binary);
  const json index = json::parse(index_file);
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  std::set<std::string> kinds;
  for (const json& row : index.at("rows")) {
    SCOPED_TRACE(row.dump());
    kinds.insert(row.at("kind").get<std::string>());
    const size_t cols = row.at("cols"), offset = row.at("offset"), gain = row.at("gain");
    ASSERT_LE(offset + cols, values.size());
    EXPECT_LE(gain + cols, values.size());
    EXPECT_EQ(row.at("eps").empty(), row.at("kind") == "softmax");
    if (row.at("name") == "alternating") {
      EXPECT_EQ(values[offset], 3.3f);
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"norm", "softmax"}));
  EXPECT_EQ(RunCommand({"norms", "--accuracy", "--cols-max", "8", "--export-rows", "/no/such/folder/rows"}).exit_code,
            1);
}

}  // namespace
}  // namespace prenorm
