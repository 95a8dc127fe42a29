// prenorm: finds the command, reads its options, runs it.
#include <string>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/help.h"
#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

struct Entry {
  CommandInfo info;
  int (*run)(const Options&);
};

const Entry kEntries[] = {
    {{kGenerate, "generate", "continue a text", "prenorm generate -p \"Once upon a time\" -n 100"}, RunGenerate},
    {{kChat, "chat", "talk with a model, or answer once", "prenorm chat -p \"Why is the sky blue?\""}, RunChat},
    {{kTokenize, "tokenize", "the ids and pieces of a text", "prenorm tokenize -p \"Hello world\""}, RunTokenize},
    {{kLogits, "logits", "the logits of every position", "prenorm logits --tokens 1,2,3 --out x.npy"}, RunLogits},
    {{kInspect, "inspect", "what is in a model file, and what of it runs", "prenorm inspect model.gguf"}, RunInspect},
    {{kBench, "bench", "measure tokens a second", "prenorm bench --tests pp512,tg128,tg128@d2048"}, RunBench},
    {{kProfile, "profile", "where the time goes, and normalization's share of it", "prenorm profile -t 2"}, RunProfile},
    {{kDoctor, "doctor", "what on this machine costs speed, and what to do", "prenorm doctor"}, RunDoctor},
    {{kNorms, "norms", "how exactly the normalization layer computes", "prenorm norms --accuracy"}, RunNorms},
    {{kPerplexity, "perplexity", "how well a model predicts a text", "prenorm perplexity model.gguf -f text.txt"},
     RunPerplexity},
    {{kManage, "models", "list, fetch and remove models", "prenorm models fetch smollm2-135m-instruct-q4_1"}, RunModels},
    {{kQuantize, "quantize", "write a model again in a smaller type", "prenorm quantize model-f16.gguf model-q4.gguf Q4_K_M"},
     RunQuantize},
    {{kVerify, "verify", "compare the engine with a plain reference, operator by operator", "prenorm verify model.gguf"},
     RunVerify},
};

std::string Overview() {
  std::string text =
      "prenorm " PRENORM_VERSION ": language models on the CPU, with their normalization measured\n\n"
      "Usage:    prenorm COMMAND [MODEL] [OPTION...]\n"
      "Example:  prenorm chat -p \"Why is the sky blue?\"\n\nCommands:\n";
  for (const Entry& entry : kEntries) {
    std::string name = std::string("  ") + entry.info.name;
    name.resize(14, ' ');
    text += name + entry.info.summary + "\n";
  }
  return text +
         "\nMODEL is a file, or a name of the catalog; without it the default model is used.\n"
         "More:     prenorm COMMAND --help\n";
}

int UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.push_back(entry.info.name);
  const std::string near = DidYouMean(word, names);
  return Fail(Status(StatusCode::kInvalidArgument,
                     "There is no such command.\nprenorm: '" + word + "'\n" +
                         (near.empty() ? "" : "Did you mean " + near + "? ") + "See: prenorm --help"));
}

int Main(int argc, char** argv) {
  InstallSignalHandlers();
  SetColor("auto");
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h" || word == "help") return PrintAnswer(Overview());
  if (word == "--version") return PrintAnswer("prenorm " PRENORM_VERSION "\n");
  if (word.empty()) {
    Note(Overview());
    return kExitUsage;
  }
  for (const Entry& entry : kEntries) {
    if (word != entry.info.name) continue;
    Result<ParsedOptions> parsed = ParseOptions(entry.info.command, word, argc - 2, argv + 2);
    if (!parsed.ok()) return Fail(parsed.status());
    SetColor(parsed->options.color);
    if (parsed->options.help) return PrintAnswer(CommandHelp(entry.info));
    if (parsed->options.print_config) return PrintAnswer(PrintedConfig(entry.info, *parsed));
    return entry.run(parsed->options);
  }
  return UnknownCommand(word);
}

}  // namespace
}  // namespace prenorm::tools

int main(int argc, char** argv) { return prenorm::tools::Main(argc, argv); }
