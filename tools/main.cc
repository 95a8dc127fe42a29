// prenorm: finds the command, reads its options, runs it.
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/bus_error.h"
#include "tools/common/errors.h"
#include "tools/common/help.h"
#include "tools/common/interrupt.h"
#include "tools/common/model_defaults.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

int Run(Command command, const Options& options) {
  switch (command) {
    case kGenerate:
      return RunGenerate(options);
    case kChat:
      return RunChat(options);
    case kTokenize:
      return RunTokenize(options);
    case kLogits:
      return RunLogits(options);
    case kEmbed:
      return RunEmbed(options);
    case kInspect:
      return RunInspect(options);
    case kBench:
      return RunBench(options);
    case kProfile:
      return RunProfile(options);
    case kQuantize:
      return RunQuantize(options);
    case kPerplexity:
      return RunPerplexity(options);
    case kVerify:
      return RunVerify(options);
    case kManage:
      return RunModels(options);
    case kDoctor:
      return RunDoctor(options);
    case kNorms:
      return RunNorms(options);
    case kLab:
      return RunLab(options);
  }
  return kExitUsage;
}

// A file that is opened later must not take the place of a standard stream that is closed. Reading from these then
// gives the end, writing an answer the error of a closed file.
void OccupyStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

std::string Overview() {
  std::string text = "prenorm " PRENORM_VERSION
                     ": language models on the CPU, with their normalization measured\n\n"
                     "Usage:    prenorm COMMAND [MODEL] [OPTION...]\n"
                     "Example:  prenorm chat -p \"Why is the sky blue?\"\n\nCommands:\n";
  for (const CommandInfo& info : CommandTable()) {
    std::string name = std::string("  ") + info.name;
    name.resize(14, ' ');
    text += name + Wrapped(info.summary, name.size(), LineWidth()) + "\n";
  }
  return text +
         "\nMODEL is a file, or a name of the catalog; without it the default model is used.\n"
         "More:     prenorm COMMAND --help\n";
}

int UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandInfo& info : CommandTable()) names.push_back(info.name);
  std::string near = DidYouMean(word, names);
  for (const OptionSpec& spec : OptionTable()) {  // What others have as a command of its own, "fetch" for example.
    const bool is_action = spec.field == Field(&Options::action);
    if (is_action && ("|" + std::string(spec.choices) + "|").find("|" + word + "|") != std::string::npos)
      near = "models " + word;
  }
  return Fail(Status(StatusCode::kInvalidArgument, "There is no such command.\nprenorm: '" + word + "'\n" +
                                                       (near.empty() ? "" : "Did you mean " + near + "? ") +
                                                       "See: prenorm --help"));
}

int Help(const std::string& command) {
  if (command.empty()) return PrintAnswer(Overview());
  for (const CommandInfo& info : CommandTable()) {
    if (command == info.name) return PrintAnswer(CommandHelp(info, LineWidth()));
  }
  return UnknownCommand(command);
}

int Main(int argc, char** argv) {
  OccupyStandardStreams();
  InstallSignalHandlers();
  InstallBusErrorHandler();
  SetColor("auto");
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h" || word == "help") return Help(argc > 2 ? argv[2] : "");
  if (word == "--version") return PrintAnswer("prenorm " PRENORM_VERSION "\n");
  if (word.empty()) {
    Note(Overview());
    return kExitUsage;
  }
  for (const CommandInfo& info : CommandTable()) {
    if (word != info.name) continue;
    SetCommand(info);
    Result<ParsedOptions> parsed = ParseOptions(info.command, word, argc - 2, argv + 2);
    if (!parsed.ok()) return Fail(parsed.status());
    SetColor(parsed->options.color);
    if (parsed->options.help) return PrintAnswer(CommandHelp(info, LineWidth()));
    if (Status status = ApplyModelDefaults(info.command, *parsed); !status.ok()) return FailModel(status);
    if (parsed->options.print_config) return PrintAnswer(PrintedConfig(info, *parsed));
    if (!parsed->options.quiet) {
      for (const std::string& note : parsed->notes) Note("prenorm: note: " + note);
    }
    return Run(info.command, parsed->options);
  }
  return UnknownCommand(word);
}

}  // namespace
}  // namespace prenorm::tools

int main(int argc, char** argv) {
  // Where there is less room the C++ runtime may have got no reserve for exceptions, and ends a process that throws.
  void* const volatile room = std::malloc(size_t{1} << 20);
  std::free(room);
  if (room == nullptr) {
    constexpr std::string_view kMessage = "prenorm: There is not enough memory.\n";
    return write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0 ? prenorm::tools::kExitOther
                                                                      : prenorm::tools::kExitMemory;
  }
  try {
    return prenorm::tools::ExitCodeAtEnd(prenorm::tools::Main(argc, argv));
  } catch (const std::bad_alloc&) {
    return prenorm::tools::Fail({prenorm::StatusCode::kOutOfMemory, "There is not enough memory."});
  }
}
