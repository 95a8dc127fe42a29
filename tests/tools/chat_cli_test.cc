// prenorm chat from outside: one answer, a conversation at a terminal, interruptions.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(ChatCliTest, AnswersOnceInTheModelsTemplate) {
  const CommandResult shown = RunCommand({"chat", TinyModel(), "-p", "Tell me a story.", "--show-prompt"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("<|im_start|>user\nTell me a story.<|im_end|>\n<|im_start|>assistant\n\n[")) << shown.out;

  const CommandResult result =
      RunCommand({"chat", TinyModel(), "-p", "Tell me a story.", "--temp", "0", "-n", "40", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_NE(shown.out.find(object.at("prompt_ids").dump()), std::string::npos);
  EXPECT_EQ(object.at("text").get<std::string>().find("<|im_end|>"), std::string::npos) << "end tokens are not printed";
}

TEST(ChatCliTest, TheSystemMessageComesFirst) {
  const CommandResult shown = RunCommand({"chat", TinyModel(), "-p", "Hi", "--system", "Be brief.", "--show-prompt"});
  EXPECT_TRUE(shown.out.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n")) << shown.out;
}

TEST(ChatCliTest, EndsCleanlyAtTheEndOfInput) {
  for (const CommandInput& input : {CommandInput{.close_stdin = true}, CommandInput{.stdin_text = ""}, CommandInput{}}) {
    const CommandResult result = RunCommand({"chat", TinyModel()}, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "");
  }
  const CommandResult piped = RunCommand({"chat", TinyModel(), "-n", "8"}, {.stdin_text = "hi\n"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_NE(piped.out, "");
}

TEST(ChatCliTest, AMessageTooLongIsRefusedWithBothCounts) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += " the fox";
  const CommandResult result = RunCommand({"chat", TinyModel(), "-p", text, "-c", "16"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.err.find("16"), std::string::npos) << result.err;
}

TEST(ChatCliTest, AConversationGoesOnUntilTheInputEnds) {
  TerminalCommand chat({"chat", TinyModel(), "--temp", "0", "-n", "12"});
  ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
  chat.Type("Tell me a story.\n");
  ASSERT_TRUE(chat.WaitFor("> ", 2)) << chat.output();
  chat.Type("And then?\n");
  ASSERT_TRUE(chat.WaitFor("first token", 2)) << chat.output();
  ASSERT_TRUE(chat.WaitFor("> ", 3)) << chat.output();
  EXPECT_EQ(chat.EndInput(), 0) << chat.output();
}

TEST(ChatCliTest, StaysUsableAfterAMessageThatIsTooLong) {
  TerminalCommand chat({"chat", TinyModel(), "--temp", "0", "-n", "4", "-c", "48"});
  ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
  std::string text;
  for (int i = 0; i < 60; ++i) text += " fox";
  chat.Type(text + "\n");
  ASSERT_TRUE(chat.WaitFor("do not fit in a context of 48")) << chat.output();
  ASSERT_TRUE(chat.WaitFor("> ", 2)) << chat.output();
  chat.Type("Hi\n");
  ASSERT_TRUE(chat.WaitFor("first token")) << chat.output();
  ASSERT_TRUE(chat.WaitFor("> ", 3)) << chat.output();
  EXPECT_EQ(chat.EndInput(), 0) << chat.output();
}

TEST(ChatCliTest, InterruptReturnsToThePromptAndASecondOneEnds) {
  // The tiny model may have filled its context before the key arrives: then the key ended the chat, and it starts anew.
  for (int attempt = 0;; ++attempt) {
    TerminalCommand chat({"chat", TinyModel(), "-n", "-1", "--ignore-end-tokens", "-t", "8"});
    ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
    chat.Type("Tell me a story.\n");
    ASSERT_TRUE(chat.WaitFor(" the ", 2)) << chat.output();  // The first one is in the greeting.
    chat.Type("\x03");
    if (!chat.WaitFor("interrupted") && attempt < 10) continue;
    ASSERT_TRUE(chat.WaitFor("> ", 2)) << chat.output();
    chat.Type("\x03");
    EXPECT_EQ(chat.Wait(), 130) << chat.output();
    break;
  }
}

}  // namespace
}  // namespace prenorm
