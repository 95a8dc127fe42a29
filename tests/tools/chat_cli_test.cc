// prenorm chat from outside: one answer, a conversation at a terminal, its commands, interruptions.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

TEST(ChatCliTest, AnswersOnceInTheModelsTemplate) {
  const CommandResult shown = RunCommand({"chat", TinyModel(), "-p", "Tell me a story.", "--show-prompt"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("<|im_start|>user\nTell me a story.<|im_end|>\n<|im_start|>assistant\n\n["))
      << shown.out;

  const CommandResult result =
      RunCommand({"chat", TinyModel(), "-p", "Tell me a story.", "--temp", "0", "-n", "40", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_NE(shown.out.find(object.at("prompt_ids").dump()), std::string::npos);
  EXPECT_EQ(object.at("text").get<std::string>().find("<|im_end|>"), std::string::npos) << "end tokens are not printed";
}

TEST(ChatCliTest, TheSystemMessageComesFirst) {
  const CommandResult shown = RunCommand({"chat", TinyModel(), "-p", "Hi", "--system", "Be brief.", "--show-prompt"});
  EXPECT_TRUE(shown.out.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"))
      << shown.out;
}

TEST(ChatCliTest, EndsCleanlyAtTheEndOfInput) {  // R4
  for (const CommandInput& input :
       {CommandInput{.close_stdin = true}, CommandInput{.stdin_text = ""}, CommandInput{}}) {
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

TEST(ChatCliTest, StaysUsableAfterAMessageThatIsTooLong) {  // R1
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

TEST(ChatCliTest, CommandsEditTheHistory) {
  TemporaryFolder folder;
  const std::string file = folder.path("talk.json");
  TerminalCommand chat({"chat", TinyModel(), "--temp", "0", "-n", "8"});
  ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
  int prompts = 1;
  const auto type = [&](const std::string& line, const std::string& answer) {
    chat.Type(line + "\n");
    EXPECT_TRUE(chat.WaitFor(answer)) << line << "\n" << chat.output();
    EXPECT_TRUE(chat.WaitFor("\n> ", ++prompts)) << line << "\n" << chat.output();
  };
  type("/undo", "There is no question yet.");
  type("/helo", "Did you mean /help?");
  type("/help", "/load FILE");
  type("/system Be brief.", "The system message is set.");
  type("Tell me a story.", "first token");
  type("And then?", "prompt");
  type("/stats", "2 exchanges, 0 of them left out");
  type("/undo", "The last question is taken back.");
  type("/save " + file, "Saved as");
  type("/reset", "A new conversation.");
  type("/load " + file, "goes on.");
  type("/stats", "1 exchanges");
  type("/load " + folder.path("none"), "cannot be opened");
  EXPECT_EQ(chat.EndInput(), 0) << chat.output();
  std::ifstream in(file);
  const json messages = json::parse(in).at("messages");
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0], json({{"role", "system"}, {"content", "Be brief."}}));
  EXPECT_EQ(messages[1].at("content"), "Tell me a story.");
  EXPECT_EQ(messages[2].at("role"), "assistant");
}

TEST(ChatCliTest, RetryAnswersTheLastQuestionAgain) {
  TerminalCommand chat({"chat", TinyModel(), "--temp", "0", "-n", "8"});
  ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
  chat.Type("Tell me a story.\n");
  ASSERT_TRUE(chat.WaitFor("first token")) << chat.output();
  chat.Type("/retry\n");
  ASSERT_TRUE(chat.WaitFor("first token", 2)) << chat.output();
  chat.Type("/stats\n");
  EXPECT_TRUE(chat.WaitFor("1 exchanges")) << chat.output();
}

TEST(ChatCliTest, AFullContextShiftsOnRequestOnly) {
  const auto ask = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chat", TinyModel(), "--temp", "0",        "-n",
                                          "4",    "-c",        "64",     "--system", "Be brief."};
    arguments.insert(arguments.end(), more.begin(), more.end());
    TerminalCommand chat(arguments);
    EXPECT_TRUE(chat.WaitFor("> ")) << chat.output();
    for (int i = 1; i <= 5; ++i) {
      chat.Type("Tell me a story.\n");
      if (!chat.WaitFor("\n> ", i + 1)) break;
    }
    EXPECT_EQ(chat.EndInput(), 0) << chat.output();
    return chat.output();
  };
  EXPECT_NE(ask({}).find("do not fit in a context of 64"), std::string::npos);
  const std::string shifted = ask({"--context-shift"});
  EXPECT_NE(shifted.find("exchanges are left out"), std::string::npos) << shifted;
  EXPECT_EQ(shifted.find("do not fit"), std::string::npos) << shifted;
}

TEST(ChatCliTest, TemplateArgumentsAndToolsAreChecked) {
  TemporaryFolder folder;
  const auto chat = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chat", TinyModel(), "-p", "Hi", "--show-prompt"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(arguments);
  };
  EXPECT_EQ(chat({"--template-args", "[1]"}).exit_code, 2);
  EXPECT_EQ(chat({"--tools", folder.Write("tools.json", "{}")}).exit_code, 2);
  EXPECT_EQ(chat({"--tools", folder.path("none")}).exit_code, 1);
  const CommandResult result =
      chat({"--template-args", "{\"enable_thinking\": false}", "--tools", folder.Write("tools.json", "[]")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, chat({}).out) << "the tiny model's template asks for neither";
}

TEST(ChatCliTest, ReasoningIsShownApartOrNotAtAll) {
  TemporaryFolder folder;
  // The assistant's turn begins inside of its reasoning, which the tiny model never ends.
  const std::string thinks =
      folder.Write("thinks.jinja", "{{ messages[-1].content }}{% if false %}</think>{% endif %}<think>\n");
  const std::vector<std::string> chat = {"chat", TinyModel(), "-p", "Once there was a", "--temp",
                                         "0",    "-n",        "12", "--chat-template",  thinks};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), chat.begin(), chat.end());
    return RunCommand(more);
  };
  const json object = json::parse(with({"--json"}).out);
  const std::string reasoning = object.at("reasoning");
  EXPECT_EQ(object.at("text"), "");
  ASSERT_FALSE(reasoning.empty());
  const CommandResult shown = with({"-q"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(shown.out, "") << "stdout holds the answer only";
  EXPECT_NE(shown.err.find(reasoning), std::string::npos) << shown.err;
  const CommandResult hidden = with({"-q", "--reasoning", "hide"});
  EXPECT_EQ(hidden.out + hidden.err, "");
  // Closed by the template: all is answer.
  const std::string closes = folder.Write("closes.jinja", "{{ messages[-1].content }}<think>\n\n</think>\n\n");
  std::vector<std::string> plain = chat;
  plain.back() = closes;
  plain.push_back("-q");
  const CommandResult answer = RunCommand(plain);
  EXPECT_NE(answer.out, "");
  EXPECT_EQ(answer.err, "");
}

TEST(ChatCliTest, TemplatesByNameAndByFile) {
  TemporaryFolder folder;
  const std::string file = folder.Write("mine.jinja", "[{{ messages[0].content }}]");
  const CommandResult mine = RunCommand({"chat", TinyModel(), "-p", "Hi", "--show-prompt", "--chat-template", file});
  EXPECT_TRUE(mine.out.starts_with("[Hi]\n")) << mine.out << mine.err;
  const CommandResult none = RunCommand({"chat", TinyModel(), "-p", "Hi", "--chat-template", "rag"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_NE(none.err.find("expected default, found \"rag\""), std::string::npos) << none.err;
}

TEST(ChatCliTest, AQuestionTooLongIsCutOnRequest) {  // R1
  std::string text = "first";
  for (int i = 0; i < 40; ++i) text += " the fox";
  const CommandResult refused = RunCommand({"chat", TinyModel(), "-p", text, "-c", "32", "-n", "4"});
  EXPECT_EQ(refused.exit_code, 5);
  const CommandResult cut =
      RunCommand({"chat", TinyModel(), "-p", text, "-c", "32", "-n", "4", "--truncate", "right", "--json"});
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_NE(cut.err.find("left out"), std::string::npos) << cut.err;
  EXPECT_LE(json::parse(cut.out).at("prompt_tokens"), 28);
}

TEST(ChatCliTest, InterruptReturnsToThePromptAndASecondOneEnds) {  // R5
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
