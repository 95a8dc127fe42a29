// Signals in the middle of commands: they end soon, with the code of the signal, and leave nothing half-written.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class SignalsCliTest : public testing::TestWithParam<int> {
 protected:
  // JSON lines are long: the pipe is full long before the context is, so the signal comes in time.
  CommandResult Signalled(const std::vector<std::string>& arguments) const {
    CommandInput input;
    input.interrupt_after = 1;
    input.signal = GetParam();
    return RunCommand(arguments, input);
  }
};

TEST_P(SignalsCliTest, AnAnswerEndsAndItsSessionIsKept) {
  const TemporaryFolder folder;
  const std::string kept = folder.path("kept");
  const CommandResult result = Signalled(
      {"generate", TinyModel(), "-p", "Once", "-n", "-1", "--ignore-end-tokens", "--jsonl", "--session", kept});
  EXPECT_EQ(result.exit_code, 128 + GetParam()) << result.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "the session, and no part of it";
  EXPECT_EQ(RunCommand({"generate", TinyModel(), "-p", " there", "-n", "1", "--session", kept}).exit_code, 0);
}

TEST_P(SignalsCliTest, WhatLooksAtNoFlagEndsAtOnce) {
  // The first line comes before the work.
  EXPECT_EQ(Signalled({"lab"}).exit_code, 128 + GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SignalsCliTest, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& each) { return std::string(strsignal(each.param)).substr(0, 4); });

TEST(SignalsChatTest, ATerminatedChatEndsAtItsPrompt) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    TerminalCommand chat({"chat", TinyModel()});
    ASSERT_TRUE(chat.WaitFor("> ")) << chat.output();
    chat.Send(signal);
    EXPECT_EQ(chat.Wait(), 128 + signal) << chat.output();
  }
}

}  // namespace
}  // namespace prenorm
