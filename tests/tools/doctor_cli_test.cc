// prenorm doctor from outside: table and JSON. What each finding finds is tested beside the library.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(DoctorCliTest, JsonHasTheFieldsThatScriptsRelyOn) {
  const CommandResult result = RunCommand({"doctor", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_GE(object.at("findings").size(), 8u);
  for (const json& finding : object.at("findings")) {
    EXPECT_NE(finding.at("id"), "");
    EXPECT_NE(finding.at("text"), "");
    EXPECT_TRUE(finding.at("hint").is_string());
    const std::string level = finding.at("level");
    EXPECT_TRUE(level == "ok" || level == "note" || level == "warning") << level;
    EXPECT_TRUE(level != "warning" || finding.at("hint") != "") << finding;
  }
}

TEST(DoctorCliTest, FindsAPlantedFault) {
  const CommandResult result = RunCommand({"doctor"}, {.environment = {"OMP_THREAD_LIMIT=0"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("warning  openmp_environment"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("-> unset OMP_THREAD_LIMIT"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("Threads that the engine takes"), std::string::npos) << result.out;
}

TEST(DoctorCliTest, UnknownTargetsAreRefused) { EXPECT_EQ(RunCommand({"doctor", "--target", "MMX"}).exit_code, 2); }

}  // namespace
}  // namespace prenorm
