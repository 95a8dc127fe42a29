// A model file that changes while the command uses it: an error that names it, and no text as if all were well.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tools/run_command.h"
#include "tools/common/bus_error.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

// What a child writes to stderr that reads behind the end of a file which was cut; and its status as of waitpid.
std::string ReadBehindTheEnd(const std::string& path, int& status) {
  int output[2];
  EXPECT_EQ(pipe(output), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], STDERR_FILENO);
    tools::InstallBusErrorHandler();
    const int fd = open(path.c_str(), O_RDONLY);
    const auto* bytes = static_cast<const volatile char*>(mmap(nullptr, 3 * 4096, PROT_READ, MAP_PRIVATE, fd, 0));
    if (truncate(path.c_str(), 4096) != 0) _exit(99);
    _exit(bytes[2 * 4096] == 'x' ? 98 : 97);
  }
  close(output[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(output[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(output[0]);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return text;
}

TEST(ShrinkingFileTest, ReadingBehindTheEndEndsWithTheNameOfTheFile) {  // R15
  const TemporaryFolder folder;
  const std::string path = folder.Write("a file", std::string(3 * 4096, 'x'));
  int status = 0;
  const std::string text = ReadBehindTheEnd(path, status);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  EXPECT_TRUE(text.starts_with("prenorm: a file became shorter while it was in use\n  '" + path + "': ")) << text;
  EXPECT_NE(text.find("--no-mmap"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

TEST(ShrinkingFileTest, OtherBusErrorsEndTheProcessAsEver) {
  const pid_t child = fork();
  if (child == 0) {
    tools::InstallBusErrorHandler();
    raise(SIGBUS);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

// At any time: while it is loaded, in a step, between two of them.
TEST(ShrinkingFileTest, ACutModelEndsTheRunWithAnError) {  // R15
  const TemporaryFolder folder;
  const std::string path = folder.path("model.gguf");
  for (const size_t after : {size_t{1}, size_t{40}, size_t{200}}) {
    fs::copy_file(TinyModel(), path, fs::copy_options::overwrite_existing);
    CommandInput input;
    input.interrupt_after = after;
    input.on_interrupt = [&] { fs::resize_file(path, 5000); };
    const CommandResult result =
        RunCommand({"generate", path, "-p", "Once", "-n", "-1", "--ignore-end-tokens", "--jsonl", "-t", "1"}, input);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_NE(result.err.find(path), std::string::npos) << result.err;
    EXPECT_EQ(result.out.find("finish_reason"), std::string::npos) << "no summary";
  }
}

TEST(ShrinkingFileTest, AWrittenFileIsNoticedBetweenTwoAnswers) {  // R15
  const TemporaryFolder folder;
  const std::string path = folder.path("model.gguf");
  fs::copy_file(TinyModel(), path);
  const auto talk = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chat", path, "--temp", "0", "-n", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    TerminalCommand chat(arguments);
    EXPECT_TRUE(chat.WaitFor("> ")) << chat.output();
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << 'G';  // The byte that was there.
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
    chat.Type("Tell me a story.\n");
    const bool answered = more.empty() ? chat.WaitFor("was changed while it was in use") : chat.WaitFor("first token");
    EXPECT_TRUE(answered) << chat.output();
    EXPECT_TRUE(chat.WaitFor("> ", 2)) << chat.output();
    chat.EndInput();
  };
  talk({});
  talk({"--no-mmap"});
}

}  // namespace
}  // namespace prenorm
