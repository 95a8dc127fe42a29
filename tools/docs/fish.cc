// Completion for fish: one line for each command and each option.
#include "tools/docs/docs.h"

namespace prenorm::tools {
namespace {

// In single quotes fish knows \\ and \' alone.
std::string FishQuoted(const std::string& text) { return "'" + Escaped(text, "\\'") + "'"; }

std::string FlagLine(const CommandInfo& info, const OptionSpec& spec) {
  std::string line = std::string("complete -c prenorm -n '__fish_seen_subcommand_from ") + info.name + "'";
  for (const std::string& name : Names(spec)) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (spec.value[0] != '\0') line += TakesFile(spec) ? " -r -F" : " -x";
  if (spec.choices[0] != '\0') line += " -a " + FishQuoted(Joined(Choices(spec), " "));
  return line + " -d " + FishQuoted(spec.help) + "\n";
}

}  // namespace

std::string FishCompletion() {
  std::string text = "# fish completion for prenorm; made from its option table.\n";
  for (const CommandInfo& info : CommandTable()) {
    text += std::string("complete -c prenorm -f -n __fish_use_subcommand -a ") + info.name + " -d " +
            FishQuoted(info.summary) + "\n";
  }
  for (const CommandInfo& info : CommandTable()) {
    for (const OptionSpec* spec : FlagsOf(info)) text += FlagLine(info, *spec);
    for (const OptionSpec* spec : PositionalsOf(info)) {
      if (spec->choices[0] == '\0') continue;
      text += std::string("complete -c prenorm -n '__fish_seen_subcommand_from ") + info.name + "' -a " +
              FishQuoted(Joined(Choices(*spec), " ")) + "\n";
    }
  }
  return text;
}

}  // namespace prenorm::tools
