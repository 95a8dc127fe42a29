// Man pages in the macros of man(7).
#include "tools/docs/docs.h"

namespace prenorm::tools {
namespace {

// Backslashes and hyphens as themselves, and no line that begins like a request.
std::string Roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      result += std::string("\\&") + c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string Title(const std::string& name, const std::string& version) {
  std::string upper = name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return ".TH " + Roff(upper) + " 1 \"\" \"Prenorm " + version + "\" \"User commands\"\n";
}

std::string OptionEntry(const OptionSpec& spec) {
  std::string heading = "\\fB" + Roff(Joined(Names(spec), ", ")) + "\\fR";
  if (spec.value[0] != '\0') heading += std::string(" \\fI") + Roff(spec.value) + "\\fR";
  std::string text = ".TP\n" + heading + "\n" + Roff(spec.help) + "\n";
  if (spec.choices[0] != '\0') text += "One of " + Roff(Joined(Choices(spec), ", ")) + ".\n";
  const std::string value = spec.default_text[0] != '\0' ? spec.default_text : ValueText(spec, Options());
  if (!value.empty() && value != "off") text += "Default: " + Roff(value) + ".\n";
  if (spec.environment[0] != '\0') text += std::string("Environment: ") + Roff(spec.environment) + ".\n";
  return text;
}

// Those that stand for no option.
std::string Variables() {
  constexpr struct {
    const char *name, *text;
  } kVariables[] = {
      {"XDG_CACHE_HOME",
       "Models are kept in prenorm/models in there, prepared weights in prenorm/prepared. Default: "
       ".cache in the home folder."},
      {"HF_ENDPOINT", "Address of the hub that prenorm models fetch asks, where it is not the public one."},
      {"HF_TOKEN", "Token for repositories of the hub that ask for one."},
      {"PIP_INDEX_URL", "Address of the package index that copies of the catalog's models come from."},
      {"SSL_CERT_FILE", "File of the certificates that servers are checked by, where it is not the system's."},
      {"PRENORM_ONEDNN_LIBRARY", "The oneDNN library that is loaded for prompts of BF16 models; empty: none."},
      {"PRENORM_PROGRESS_DELAY", "Seconds before long work shows a bar on a terminal. Default: 1."},
      {"NO_COLOR, CLICOLOR_FORCE", "Never colours; colours also where the output is no terminal."},
  };
  std::string text;
  for (const auto& variable : kVariables) {
    text += std::string(".TP\n\\fB") + Roff(variable.name) + "\\fR\n" + Roff(variable.text) + "\n";
  }
  return text;
}

}  // namespace

std::string OverviewManPage(const std::string& version) {
  std::string text =
      Title("prenorm", version) +
      ".SH NAME\nprenorm \\- language models on the CPU\n"
      ".SH SYNOPSIS\n\\fBprenorm\\fR \\fICOMMAND\\fR [\\fIMODEL\\fR] [\\fIOPTION\\fR...]\n"
      ".SH DESCRIPTION\nRuns language models on the CPU and measures them. \\fIMODEL\\fR is a file, a folder, or a "
      "name of the catalog; without it the default model is used. Every command has a page of its own.\n"
      ".SH COMMANDS\n";
  for (const CommandInfo& info : CommandTable()) {
    text += std::string(".TP\n\\fBprenorm\\-") + info.name + "\\fR(1)\n" + Roff(info.summary) + "\n";
  }
  return text + ".SH ENVIRONMENT\nOptions that a variable can give name it on the pages of their commands.\n" +
         Variables() +
         ".SH EXIT STATUS\n0 ok, 1 other, 2 usage, 3 model file bad or unsupported, 4 does not fit in memory, 5 prompt "
         "too long, 6 chat template, 7 verification failed, 129 hung up, 130 interrupted, 143 terminated.\n";
}

std::string CommandManPage(const CommandInfo& info, const std::string& version) {
  const std::string name = std::string("prenorm-") + info.name;
  std::string text = Title(name, version) + ".SH NAME\n" + Roff(name) + " \\- " + Roff(info.summary) +
                     "\n.SH SYNOPSIS\n\\fBprenorm " + info.name + "\\fR";
  for (const OptionSpec* spec : PositionalsOf(info)) text += std::string(" \\fI") + spec->names + "\\fR";
  text += " [\\fIOPTION\\fR...]\n.SH OPTIONS\n";
  std::string group;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & info.command) == 0) continue;
    if (group != spec.group) text += std::string(".SS ") + spec.group + "\n";
    group = spec.group;
    text += OptionEntry(spec);
  }
  return text + ".SH EXAMPLES\n.EX\n" + Roff(info.example) + "\n.EE\n.SH SEE ALSO\n\\fBprenorm\\fR(1)\n";
}

}  // namespace prenorm::tools
