// What goes wrong on the command line: exit codes, three lines, did-you-mean, help, origins of options.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/gguf_writer.h"
#include "tests/support/small_llama.h"
#include "tests/support/temporary_folder.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

void ExpectError(const CommandResult& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_TRUE(result.err.starts_with("prenorm: ")) << result.err;
  EXPECT_GE(std::count(result.err.begin(), result.err.end(), '\n'), 3) << "what, where, what to do:\n" << result.err;
}

TEST(ErrorsCliTest, UnknownOptionsAndCommandsGetASuggestion) {
  ExpectError(RunCommand({"generate", TinyModel(), "--tmep", "0"}), 2, "Did you mean --temp?");
  ExpectError(RunCommand({"generate", TinyModel(), "--max-new-token=3"}), 2, "Did you mean --max-new-tokens?");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--frobnicate"}), 2, "--frobnicate");
  ExpectError(RunCommand({"generate", TinyModel(), "second"}), 2, "second");
  ExpectError(RunCommand({"genrate"}), 2, "Did you mean generate?");
}

TEST(ErrorsCliTest, WhatWasMeantIsSaid) {
  ExpectError(RunCommand({"fetch"}), 2, "Did you mean models fetch?");
  ExpectError(RunCommand({"help", "genrate"}), 2, "Did you mean generate?");
  EXPECT_EQ(RunCommand({"help", "bench"}).out, RunCommand({"bench", "--help"}).out);
  EXPECT_EQ(RunCommand({"--help", "bench"}).out, RunCommand({"bench", "--help"}).out);
  for (const std::string command : {"generate", "chat", "tokenize", "perplexity"}) {
    ExpectError(RunCommand({command, "Once upon a time"}), 2, "prenorm " + command + " -p \"Once upon a time\"");
    ExpectError(RunCommand({command, TinyModel(), "-p"}), 2, "--prompt: expected TEXT, found none");
  }
  ExpectError(RunCommand({"models", "list", "something"}), 2, "one argument too many");
}

TEST(ErrorsCliTest, ValuesAreChecked) {
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--temp", "warm"}), 2, "warm");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--temp", "-1"}), 2, "temperature");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "-n", "-2"}), 2, "-2");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "-n", "1e3"}), 2, "1e3");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--cache", "f64"}), 2, "auto|f32|f16|bf16");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--target", "MMX"}), 2, "MMX");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "--logit-bias", "3"}), 2, "--logit-bias");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "-c", "1000000"}), 2, "1000000");
  ExpectError(RunCommand({"generate", TinyModel(), "-p"}), 2, "prompt");
  ExpectError(RunCommand({"logits", TinyModel(), "--tokens", "1,two", "--out", "x.npy"}), 2, "two");
  ExpectError(RunCommand({"bench", TinyModel(), "--tests", "pp512,fast"}), 2, "fast");
}

TEST(ErrorsCliTest, APromptIsNeededOnce) {
  ExpectError(RunCommand({"generate", TinyModel()}), 2, "prompt");
  ExpectError(RunCommand({"generate", TinyModel(), "-p", "x", "-f", "y"}), 2, "twice");
  ExpectError(RunCommand({"generate", TinyModel(), "-f", "no such file"}), 1, "no such file");
}

TEST(ErrorsCliTest, ModelsThatAreNoneHaveTheirOwnExitCode) {
  TemporaryFolder folder;
  ExpectError(RunCommand({"generate", "no/such/model.gguf", "-p", "x"}), 3, "no/such/model.gguf");
  ExpectError(RunCommand({"generate", folder.Write("page.gguf", "<!DOCTYPE html><html></html>"), "-p", "x"}), 3,
              "page.gguf");
  ExpectError(RunCommand({"inspect", folder.Write("empty.gguf", "")}), 3, "empty.gguf");
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder.path("loop"));
  folder.Write("new\nline.gguf", "no model");
  folder.Write("sparse.gguf", "");
  std::filesystem::resize_file(folder.path("sparse.gguf"), uintmax_t{1} << 40);
  for (const std::string command : {"generate", "inspect", "embed", "verify", "tokenize"}) {
    const auto refuse = [&](const std::string& model, int exit_code, const std::string& part) {
      std::vector<std::string> arguments = {command, model};
      if (command == "embed") arguments.push_back("a text");
      if (command == "generate" || command == "tokenize") arguments.insert(arguments.end(), {"-p", "x"});
      SCOPED_TRACE(command);
      ExpectError(RunCommand(arguments), exit_code, part);
    };
    const bool loads = command != "inspect" && command != "tokenize";
    refuse(folder.path("pipe"), 3, "pipe");
    refuse(folder.path("loop"), 3, "loop");
    refuse("/dev/zero", 3, "/dev/zero");
    refuse(folder.path("new\nline.gguf"), 3, "line.gguf");
    refuse(folder.path(), 3, folder.path());
    refuse(folder.path("sparse.gguf"), loads ? 4 : 3, "sparse.gguf");
    refuse("", 2, "MODEL");
  }
  ExpectError(RunCommand({"generate", "-p", "x"}, {.environment = {"XDG_CACHE_HOME=" + folder.path("cache")}}), 3,
              "prenorm models fetch");
  ExpectError(RunCommand({"generate", "smollm2-135m-instruct-q4", "-p", "x"}), 3,
              "Did you mean smollm2-135m-instruct-q4_1?");
}

TEST(ErrorsCliTest, AModelOfTheCatalogIsFoundInTheCache) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("prenorm/models"));
  std::filesystem::copy(TinyModel(), folder.path("prenorm/models/smollm2-135m-instruct-q4_1.gguf"));
  const CommandInput input = {.environment = {"XDG_CACHE_HOME=" + folder.path("")}};
  EXPECT_EQ(RunCommand({"generate", "-p", "x", "-n", "1"}, input).exit_code, 0);
  EXPECT_EQ(RunCommand({"generate", "smollm2-135m-instruct-q4_1", "-p", "x", "-n", "1"}, input).exit_code, 0);
}

std::vector<std::string> Commands() {
  const std::string overview = RunCommand({"--help"}).out;
  std::vector<std::string> commands;
  const std::regex entry("\n  ([a-z]+)  ");
  for (std::sregex_iterator at(overview.begin(), overview.end(), entry), end; at != end; ++at)
    commands.push_back((*at)[1]);
  EXPECT_GE(commands.size(), 10u) << overview;
  return commands;
}

TEST(ErrorsCliTest, EveryCommandHasHelpWithAnExample) {
  for (const std::string& command : Commands()) {
    const CommandResult result = RunCommand({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find("Example:  prenorm " + command), std::string::npos) << result.out;
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(RunCommand({}).exit_code, 2);
  EXPECT_TRUE(RunCommand({"--version"}).out.starts_with("prenorm "));
}

TEST(ErrorsCliTest, HelpFitsIntoTheTerminal) {
  const auto help = [](const std::string& command, const std::string& columns) {
    return RunCommand({command, "--help"}, {.environment = {"COLUMNS=" + columns}}).out;
  };
  const auto without_spaces = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  for (const std::string& command : Commands()) {
    const std::string wide = help(command, "120");
    for (const size_t columns : {40, 80}) {
      const std::string text = help(command, std::to_string(columns));
      EXPECT_EQ(without_spaces(text), without_spaces(wide));
      std::istringstream lines(text.substr(text.find("\n\n", text.find("Example:"))));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << command << ": " << line;
    }
  }
}

// An option that an error message advises is one of the command that printed it.
void ExpectOwnOptions(const std::vector<std::string>& arguments) {
  const std::string help = RunCommand({arguments[0], "--help"}).out, err = RunCommand(arguments).err;
  EXPECT_NE(err, "") << arguments[0];
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("prenorm ") != std::string::npos && line.find("prenorm " + arguments[0]) == std::string::npos)
      continue;
    const std::regex option("(^|[ (])(--?[a-z][a-z-]*)");
    for (std::sregex_iterator at(line.begin(), line.end(), option), end; at != end; ++at)
      EXPECT_NE(help.find((*at)[2].str()), std::string::npos) << arguments[0] << ": " << line;
  }
}

TEST(ErrorsCliTest, AdvisedOptionsAreThoseOfTheCommand) {
  const TemporaryFolder folder;
  const std::string huge = folder.Write("huge.gguf", ""), out = folder.path("out");
  std::error_code error;
  std::filesystem::resize_file(huge, uint64_t{1} << 43, error);
  if (error) GTEST_SKIP() << "no file of 8 TB: " << error.message();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"generate", huge, "-p", "x"},
           {"chat", huge, "-p", "x"},
           {"tokenize", huge, "-p", "x"},
           {"logits", huge, "--tokens", "1", "-o", out},
           {"embed", huge, "text"},
           {"inspect", huge},
           {"bench", huge},
           {"profile", huge},
           {"perplexity", huge, "-p", "x"},
           {"models", "prepare", huge},
           {"quantize", huge, out},
           {"verify", huge},
           {"lab", "stream-depth", "-m", huge},
           {"embed", TinyModel(), std::string(100'000, 'x')},
           {"generate", TinyModel(), "-p", std::string(100'000, 'x')},
           {"generate", TinyModel(), "-p", "x", "-c", "1000000"},
           {"generate", TinyModel(), "-p", "x", "-t", "2000"},
           {"logits", TinyModel(), "--tokens", "1,2,3", "-c", "2", "-o", out},
           {"bench", TinyModel(), "-c", "8", "--probe-mb", "1"},
           {"verify", TinyModel(), "-c", "2"},
           {"profile", TinyModel(), "-c", "8", "--probe-mb", "1"},
           {"perplexity", TinyModel(), "-p", "x", "-c", "100000"},
           {"tokenize", TinyModel()},
           {"embed", TinyModel()},
           {"perplexity", TinyModel()},
           {"norms"},
           {"norms", "--bench", "-t", "-1"},
           {"quantize", TinyModel(), out, "-t", "-1"},
       }) {
    ExpectOwnOptions(arguments);
  }
  EXPECT_NE(RunCommand({"models", "prepare", huge}).err.find("--no-memory-check"), std::string::npos);
}

TEST(ErrorsCliTest, AnEmptyTextIsNoName) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"generate", "", "-p", "x"},
                                                    {"generate", "--model", "", "-p", "x"},
                                                    {"generate", "--model=", "-p", "x"},
                                                    {"generate", TinyModel(), "--session", "", "-p", "x"},
                                                    {"models", "fetch", ""},
                                                    {"models", "remove", ""},
                                                    {"logits", TinyModel(), "--tokens", "1", "--out", ""}}) {
    ExpectError(RunCommand(arguments), 2, "empty");
  }
  const CommandInput unset = {.environment = {"PRENORM_MODEL="}};
  EXPECT_NE(RunCommand({"generate", "--print-config"}, unset).out.find("(built-in)"), std::string::npos);
}

TEST(ErrorsCliTest, PrintConfigNamesTheOriginOfEveryValue) {
  const CommandInput input = {.environment = {"PRENORM_THREADS=3", "PRENORM_TEMPERATURE=0.1"}};
  const CommandResult result = RunCommand({"generate", "--temp", "0.9", "--top_p=0.5", "--print-config"}, input);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("threads = 3  (environment)"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("temperature = 0.9  (flag)"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("top-p = 0.5  (flag)"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("top-k = 0  (built-in)"), std::string::npos) << result.out;
}

TEST(ErrorsCliTest, ColoursAreForTerminalsOrOnRequest) {
  const std::vector<std::string> wrong = {"generate", TinyModel(), "-p", "x", "-n", "1"};
  EXPECT_EQ(RunCommand(wrong).err.find('\033'), std::string::npos);
  EXPECT_NE(RunCommand(wrong, {.environment = {"CLICOLOR_FORCE=1", "NO_COLOR"}}).err.find('\033'), std::string::npos);
  EXPECT_EQ(RunCommand(wrong, {.environment = {"CLICOLOR_FORCE=1", "NO_COLOR=1"}}).err.find('\033'), std::string::npos);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They reserve terabytes.
TEST(ErrorsCliTest, TooLittleAddressSpaceIsAnError) {
  std::set<int> seen;
  for (int kilobytes = 20000; kilobytes <= 140000; kilobytes += 4000) {
    const CommandResult result = RunCommand({"generate", TinyModel(), "-p", "Once", "-n", "2", "-t", "2"},
                                            {.address_space_kilobytes = kilobytes});
    seen.insert(result.exit_code);
    if (result.exit_code == 127) continue;  // Not even the libraries of the command fit.
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 4) << kilobytes << ": " << result.err;
    EXPECT_NE(result.err, "") << kilobytes;
  }
  EXPECT_TRUE(seen.contains(0) && seen.contains(4));
}
#endif

// Neither in a refusal nor in a note: the first two would change the terminal, the last two its text.
TEST(ErrorsCliTest, NamesOfAFileDoNotCommandTheTerminal) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<uint8_t>& bytes) {
    return folder.Write(name, std::string(bytes.begin(), bytes.end()));
  };
  const std::string evil = "\x1b[2J\x1b]0;x\x07\r\x7f";
  const std::string refused = write("a.gguf", GgufWriter().String("general.architecture", evil).Build());
  const std::string noted = write("b.gguf", SmallLlama{.extra_tensor = evil}.Build());
  for (const std::string& path : {refused, noted}) {
    const CommandResult result = RunCommand({"generate", path, "-p", "a", "-n", "1"});
    EXPECT_NE(result.err.find("\\x1b[2J"), std::string::npos) << result.err;
    for (const char c : evil.substr(0, 1) + "\x07\r\x7f")
      EXPECT_EQ(result.err.find(c), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace prenorm
