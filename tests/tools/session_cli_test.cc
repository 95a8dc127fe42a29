// Sessions kept in files, and speculation, from outside.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

constexpr const char* kPrompt = "Mia had a red ball. Tom had a red ball. Mia had";

json RunJson(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {command, TinyModel(), "-p", kPrompt, "-n", "20", "--temp", "0", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

TEST(SessionCliTest, AKeptSessionSparesThePrompt) {
  for (const char* command : {"generate", "chat"}) {
    TemporaryFolder folder;
    const std::string file = folder.path("kept");
    const json first = RunJson(command, {"--session", file});
    EXPECT_EQ(first.at("reused_tokens"), 0);
    ASSERT_TRUE(std::filesystem::exists(file));
    const json second = RunJson(command, {"--session", file});
    EXPECT_EQ(second.at("reused_tokens"), first.at("prompt_tokens").get<int>() - 1);
    EXPECT_EQ(second.at("ids"), first.at("ids"));
    EXPECT_EQ(second.at("text"), first.at("text"));
    EXPECT_EQ(RunJson(command, {}).at("ids"), first.at("ids"));
  }
}

TEST(SessionCliTest, AFileThatIsNoSessionIsRefusedAndKept) {
  TemporaryFolder folder;
  const std::string text(200, 'x'), file = folder.Write("notes", text);
  const CommandResult result = RunCommand({"generate", TinyModel(), "-p", kPrompt, "-n", "2", "--session", file});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  // Nor is one that was kept with another type of cache.
  const std::string kept = folder.path("kept");
  RunJson("generate", {"--session", kept});
  const CommandResult other =
      RunCommand({"generate", TinyModel(), "-p", kPrompt, "--cache", "bf16", "--session", kept});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_NE(other.err.find("another type of cache"), std::string::npos) << other.err;
}

TEST(SessionCliTest, APlaceThatTakesNoFileIsRefusedBeforeAnAnswer) {
  TemporaryFolder folder;
  for (const char* command : {"generate", "chat"}) {
    const CommandResult result =
        RunCommand({command, TinyModel(), "-p", kPrompt, "-n", "2", "--session", folder.path("missing/kept")});
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("/missing'"), std::string::npos) << result.err;
  }
}

TEST(SessionCliTest, SpeculationKeepsTheTextAndSaysWhatItDid) {
  for (const char* command : {"generate", "chat"}) {
    const json plain = RunJson(command, {});
    EXPECT_FALSE(plain.contains("speculation"));
    const json lookup = RunJson(command, {"--speculate", "lookup"});
    EXPECT_EQ(lookup.at("ids"), plain.at("ids"));
    EXPECT_EQ(lookup.at("speculation").at("kind"), "lookup");
    for (const char* key : {"steps", "guessed", "accepted"}) {
      EXPECT_TRUE(lookup.at("speculation").at(key).is_number_unsigned()) << key;
    }
    EXPECT_GT(lookup.at("speculation").at("step_ns").at("1").get<uint64_t>(), 0u);
    const json draft = RunJson(command, {"--draft", TinyModel()});
    EXPECT_EQ(draft.at("ids"), plain.at("ids"));
    EXPECT_EQ(draft.at("speculation").at("kind"), "draft");
  }
}

TEST(SessionCliTest, RefusesTwoSourcesOfGuessesAndADraftThatIsNotThere) {
  EXPECT_EQ(RunCommand({"generate", TinyModel(), "-p", "a", "--speculate", "lookup", "--draft", TinyModel()}).exit_code,
            2);
  EXPECT_EQ(RunCommand({"generate", TinyModel(), "-p", "a", "--speculate", "magic"}).exit_code, 2);
  const CommandResult absent = RunCommand({"generate", TinyModel(), "-p", "a", "--draft", "/absent/model.gguf"});
  EXPECT_NE(absent.exit_code, 0);
  EXPECT_NE(absent.err.find("/absent/model.gguf"), std::string::npos) << absent.err;
}

}  // namespace
}  // namespace prenorm
