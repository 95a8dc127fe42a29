// What becomes of a prompt: where it comes from, byte for byte, and what happens when it is long or empty.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/small_llama.h"
#include "tests/tools/generate_helpers.h"

namespace prenorm {
namespace {

TEST(PromptCliTest, ALongPromptShowsHowFarItIsReadAtATerminalOnly) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += " the fox";
  const std::vector<std::string> arguments = {"generate", TinyModel(), "-f", folder.Write("prompt", text),
                                              "--temp",   "0",         "-n", "4"};
  const std::string at_once = "PRENORM_PROGRESS_DELAY=0", bar = "\r\033[Kreading the prompt [";
  const auto at_terminal = [&](const std::vector<std::string>& more, const std::string& delay,
                               const std::string& columns = "COLUMNS") {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    TerminalCommand command(all, {delay, columns});
    EXPECT_EQ(command.Wait(), 0) << command.output();
    return command.output();
  };
  const std::string shown = at_terminal({}, at_once);
  const size_t last = shown.rfind(bar);
  ASSERT_NE(last, std::string::npos) << shown;
  const std::string answer = Generate({"-f", folder.Write("again", text), "--temp", "0", "-n", "4"}).out;
  ASSERT_FALSE(answer.empty());
  EXPECT_NE(shown.find(" left\r\033[K" + answer, last), std::string::npos) << "the bar goes when text comes: " << shown;
  const std::string narrow =
      at_terminal({}, at_once, "COLUMNS=40");  // Where the line would wrap, nothing could clear it.
  ASSERT_NE(narrow.find("reading the prompt"), std::string::npos) << narrow;
  for (size_t at = 0; (at = narrow.find("reading the prompt", at)) != std::string::npos; ++at) {
    const std::string line = narrow.substr(at, narrow.find('\r', at) - at);
    EXPECT_LT(line.size(), 40u) << line;
    EXPECT_NE(line.find(" %"), std::string::npos) << line;
  }
  EXPECT_EQ(at_terminal({"-q"}, at_once).find(bar), std::string::npos);
  EXPECT_EQ(at_terminal({}, "PRENORM_PROGRESS_DELAY=1000000").find(bar), std::string::npos);
  const CommandResult piped = RunCommand(arguments, {.environment = {at_once}});
  EXPECT_EQ(piped.err.find('\r'), std::string::npos) << piped.err;
}

TEST(PromptCliTest, TruncateLeavesOutWhatTheUserChooses) {
  std::vector<std::string> words;
  std::string text;
  for (int i = 0; i < 60; ++i) text += " w" + std::to_string(i);
  const std::vector<int> whole = TokenizeIds(text);
  const std::vector<std::string> base = {"-p", text, "-c", "24", "-n", "4", "--temp", "0"};
  ASSERT_GT(whole.size(), 24u);
  const CommandResult refused = Generate(base);
  EXPECT_EQ(refused.exit_code, 5) << "never by itself";
  EXPECT_NE(refused.err.find(std::to_string(whole.size())), std::string::npos) << "both numbers: " << refused.err;
  EXPECT_NE(refused.err.find("24"), std::string::npos);
  const auto ids_with = [&](const std::string& where) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), {"--truncate", where});
    return GenerateJson(arguments).at("prompt_ids").get<std::vector<int>>();
  };
  EXPECT_EQ(ids_with("left"), std::vector<int>(whole.end() - 20, whole.end()));
  EXPECT_EQ(ids_with("right"), std::vector<int>(whole.begin(), whole.begin() + 20));
  std::vector<int> middle(whole.begin(), whole.begin() + 10);
  middle.insert(middle.end(), whole.end() - 10, whole.end());
  EXPECT_EQ(ids_with("middle"), middle);
  EXPECT_EQ(Generate({"-p", "x", "--truncate", "some"}).exit_code, 2);
}

TEST(PromptCliTest, APromptTooLongIsRefusedWithBothCounts) {  // R1
  std::string text;
  for (int i = 0; i < 50; ++i) text += " the fox";
  const std::string count = std::to_string(TokenizeIds(text, {"--add-special"}).size());
  TemporaryFolder folder;
  for (const std::vector<std::string>& prompt :
       {std::vector<std::string>{"-p", text}, {"-f", folder.Write("prompt", text)}}) {
    std::vector<std::string> arguments = prompt;
    arguments.insert(arguments.end(), {"-c", "9"});
    const CommandResult result = Generate(arguments);
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(count), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("9"), std::string::npos) << result.err;
  }
}

TEST(PromptCliTest, APromptFileIsUsedByteForByte) {  // R17
  TemporaryFolder folder;
  const std::string text = "Once there was\n\n";
  const json object = GenerateJson({"-f", folder.Write("prompt", text), "-n", "0"});
  EXPECT_EQ(object.at("prompt_ids").get<std::vector<int>>(), TokenizeIds(text, {"--add-special"}));
  EXPECT_EQ(GenerateJson({"-f", "-", "-n", "0"}, {.stdin_text = text}).at("prompt_ids"), object.at("prompt_ids"));
}

TEST(PromptCliTest, BackslashesStayAsTypedUnlessEscapeIsGiven) {  // R18
  const auto ids = [](const json& object) { return object.at("prompt_ids").get<std::vector<int>>(); };
  EXPECT_EQ(ids(GenerateJson({"-p", "a\\nb", "-n", "0"})), TokenizeIds("a\\nb", {"--add-special"}));
  EXPECT_EQ(ids(GenerateJson({"-p", "a\\nb", "-n", "0", "--escape"})), TokenizeIds("a\nb", {"--add-special"}));
}

TEST(PromptCliTest, PipedTextIsThePromptOrStandsBeforeIt) {
  const auto ids = [](std::vector<std::string> more, const std::string& piped) {
    more.insert(more.end(), {"-n", "0"});
    return GenerateJson(std::move(more), {.stdin_text = piped}).at("prompt_ids").get<std::vector<int>>();
  };
  EXPECT_EQ(ids({}, "the sea\n"), TokenizeIds("the sea\n", {"--add-special"}));
  EXPECT_EQ(ids({"-p", "go on"}, "the sea"), TokenizeIds("the sea\ngo on", {"--add-special"}));
  EXPECT_EQ(ids({"-p", "go on"}, ""), TokenizeIds("go on", {"--add-special"}));
}

TEST(PromptCliTest, ArgumentsReachTheModelUnchanged) {
  for (const std::string text : {"[a,b]", "\"quoted\"", "'x'", "-dash", "--temp", "{} %s $HOME", " ", "{1, 2}"}) {
    const std::string option = "--prompt=" + text;
    EXPECT_EQ(GenerateJson({option, "-n", "0"}).at("prompt_ids").get<std::vector<int>>(),
              TokenizeIds(text, {"--add-special"}))
        << text;
  }
}

TEST(PromptCliTest, AnEmptyPromptStartsFromTheBeginningToken) {  // R20
  for (const std::vector<std::string>& empty :
       {std::vector<std::string>{"-p", "", "-n", "3"}, {"--prompt=", "-n", "3"}}) {
    EXPECT_EQ(GenerateJson(empty).at("prompt_tokens"), 1);
  }
  const TemporaryFolder folder;
  const std::vector<uint8_t> bytes = SmallLlama().Build();  // It has none.
  const std::string model = folder.Write("model.gguf", std::string(bytes.begin(), bytes.end()));
  const CommandResult refused = RunCommand({"generate", model, "-p", ""});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("empty"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace prenorm
