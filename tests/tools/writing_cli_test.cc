// What every command that writes does on a full disk, to a device, and with closed standard streams.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// A command line that writes "OUT".
struct Writer {
  const char* name;
  std::vector<std::string> arguments;
  friend std::ostream& operator<<(std::ostream& out, const Writer& writer) { return out << writer.name; }
};

std::vector<Writer> Writers() {
  const std::string model = TinyModel(), text(PRENORM_SOURCE_DIR "/LICENSE");
  return {
      {"session", {"generate", model, "-p", "Once", "-n", "2", "--session", "OUT"}},
      {"chat_session", {"chat", model, "-p", "Once", "-n", "2", "--session", "OUT"}},
      {"logits", {"logits", model, "--tokens", "1,2,3", "--out", "OUT"}},
      {"embed", {"embed", model, "Once", "--out", "OUT"}},
      {"save_logits", {"perplexity", model, "-f", text, "-c", "64", "--windows", "2", "--save-logits", "OUT"}},
      {"quantize", {"quantize", model, "OUT", "Q8_0"}},
      {"profile_html", {"profile", model, "--prefill", "8", "--decode", "2", "--probe-mb", "8", "--html", "OUT"}},
      {"profile_svg", {"profile", model, "--prefill", "8", "--decode", "2", "--probe-mb", "8", "--svg", "OUT"}},
      {"profile_trace", {"profile", model, "--prefill", "8", "--decode", "2", "--probe-mb", "8", "--trace", "OUT"}},
  };
}

CommandResult RunWriter(const Writer& writer, const std::string& out, const CommandInput& input = {}) {
  std::vector<std::string> arguments = writer.arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("OUT"), out);
  return RunCommand(arguments, input);
}

class WritingCliTest : public testing::TestWithParam<Writer> {
 protected:
  size_t Files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  void ExpectSaid(const CommandResult& result, const std::string& out) {
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_NE(result.err.find("cannot be written"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(out), std::string::npos) << result.err;
  }
  const TemporaryFolder folder_;
};

TEST_P(WritingCliTest, AFullDiskIsAnErrorAndTheOlderFileStays) {
  const std::string out = folder_.path("out");
  ASSERT_EQ(RunWriter(GetParam(), out).exit_code, 0);
  ASSERT_GT(fs::file_size(out), 60u);
  chmod(out.c_str(), 0600);
  const std::string whole = Bytes(out);
  CommandInput full;
  full.file_bytes = 50;  // Nothing has room, as on a full disk.
  const CommandResult result = RunWriter(GetParam(), out, full);
  ExpectSaid(result, out);
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_EQ(Bytes(out), whole);
  EXPECT_EQ(Files(), 1u);

  ASSERT_EQ(RunWriter(GetParam(), out).exit_code, 0);
  EXPECT_EQ(fs::status(out).permissions(), fs::perms::owner_read | fs::perms::owner_write) << "others may read it now";
  fs::remove(out);
  ExpectSaid(RunWriter(GetParam(), out, full), out);
  EXPECT_EQ(Files(), 0u);
}

TEST_P(WritingCliTest, SoIsAFolderThatIsNotThere) {
  const std::string out = folder_.path("nowhere/out");
  const CommandResult result = RunWriter(GetParam(), out);
  ExpectSaid(result, out);
  EXPECT_NE(result.err.find("No such file"), std::string::npos) << result.err;
}

TEST_P(WritingCliTest, PipesAndLinksStayWhatTheyAre) {
  if (std::string_view(GetParam().name).ends_with("session")) GTEST_SKIP() << "read first: refused as no session";
  const std::string link = folder_.path("link"), out = folder_.path("out"), pipe = folder_.path("pipe");
  fs::create_symlink(out, link);
  folder_.Write("out", "older");
  ASSERT_EQ(RunWriter(GetParam(), link).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_GT(fs::file_size(out), 60u);

  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  fcntl(reader, F_SETPIPE_SZ, 1 << 20);
  if (fs::file_size(out) < 1 << 20) {
    EXPECT_EQ(RunWriter(GetParam(), pipe).exit_code, 0);
    char first = 0;
    EXPECT_EQ(read(reader, &first, 1), 1);
    EXPECT_EQ(first, Bytes(out)[0]);
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  close(reader);
}

INSTANTIATE_TEST_SUITE_P(Commands, WritingCliTest, testing::ValuesIn(Writers()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(AnswerCliTest, AnAnswerThatCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const std::string model = TinyModel();
  const std::vector<std::vector<std::string>> commands = {
      {"generate", model, "-p", "Once", "-n", "3"},
      {"generate", model, "-p", "Once", "-n", "3", "--json"},
      {"chat", model, "-p", "Once", "-n", "3"},
      {"tokenize", model, "-p", "Once"},
      {"inspect", model},
      {"models"},
      {"doctor"},
      {"--version"},
      {"--help"},
  };
  for (const std::vector<std::string>& arguments : commands) {
    for (const bool closed : {false, true}) {
      CommandInput input;
      input.stdout_path = closed ? "" : "/dev/full";
      const CommandResult result = RunCommand(arguments, input);
      EXPECT_EQ(result.exit_code, 1) << arguments[0];
      EXPECT_NE(result.err.find(closed ? "Bad file descriptor" : "No space left"), std::string::npos) << result.err;
    }
  }
}

TEST(AnswerCliTest, AClosedStreamDoesNotLendItsPlaceToAFile) {
  const TemporaryFolder folder;
  const std::string out = folder.path("x.npy"), expected = folder.path("expected.npy");
  ASSERT_EQ(RunCommand({"logits", TinyModel(), "--tokens", "1,2", "--out", expected}).exit_code, 0);
  CommandInput closed;
  closed.stdout_path = "";
  closed.close_stdin = true;
  ASSERT_EQ(RunCommand({"logits", TinyModel(), "--tokens", "1,2", "--out", out}, closed).exit_code, 0);
  EXPECT_EQ(Bytes(out), Bytes(expected));
  const std::string kept = folder.path("kept");
  EXPECT_EQ(RunCommand({"generate", TinyModel(), "-p", "Once", "-n", "3", "--session", kept}, closed).exit_code, 1);
  EXPECT_TRUE(!fs::exists(kept) ||
              RunCommand({"generate", TinyModel(), "-p", "Once", "-n", "1", "--session", kept}).exit_code == 0);
}

}  // namespace
}  // namespace prenorm
