// prenorm verify from outside.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(VerifyCliTest, TheTinyModelHolds) {
  const CommandResult table = RunCommand({"verify", TinyModel(), "--tokens", "8"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with("layer ")) << table.out;
  const CommandResult result = RunCommand({"verify", TinyModel(), "--tokens", "8", "-t", "2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("holds"), true);
  EXPECT_TRUE(object.at("first_departure").is_null());
  EXPECT_EQ(object.at("layers").size(), 4u * 7 + 2);
  for (const json& row : object.at("layers"))
    EXPECT_LE(row.at("max_rel").get<double>(), row.at("allowed").get<double>());
}

TEST(VerifyCliTest, ADepartureHasItsExitCodeAndIsNamed) {
  const CommandResult result = RunCommand({"verify", TinyModel(), "--tokens", "8", "--tolerance", "1e-12", "--json"});
  EXPECT_EQ(result.exit_code, 7);
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("holds"), false);
  EXPECT_EQ(object.at("first_departure").at("layer"), 0);
  EXPECT_NE(result.err.find("layer 0"), std::string::npos) << result.err;
}

TEST(VerifyCliTest, OptionsAreChecked) {
  EXPECT_EQ(RunCommand({"verify", TinyModel(), "--tokens", "0"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"verify", TinyModel(), "--tolerance", "-1"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"verify", "no such model"}).exit_code, 3);
}

}  // namespace
}  // namespace prenorm
