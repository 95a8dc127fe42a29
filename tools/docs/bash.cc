// Completion for bash: one function, with a case for each command and for each option that wants a certain value.
#include "tools/docs/docs.h"

namespace prenorm::tools {
namespace {

std::string Candidates(const OptionSpec& spec) {
  if (spec.choices[0] != '\0')
    return "mapfile -t COMPREPLY < <(compgen -W '" + Joined(Choices(spec), " ") + "' -- \"$cur\")";
  return TakesFile(spec) ? "_prenorm_files" : "COMPREPLY=()";
}

std::string CommandCase(const CommandInfo& info) {
  std::string text = std::string("    ") + info.name + ")\n      case $prev in\n";
  std::vector<std::string> words;
  for (const OptionSpec* spec : FlagsOf(info)) {
    const std::vector<std::string> names = Names(*spec);
    words.insert(words.end(), names.begin(), names.end());
    if (spec->value[0] != '\0') text += "        " + Joined(names, " | ") + ") " + Candidates(*spec) + "; return ;;\n";
  }
  text += "      esac\n      words='" + Joined(words, " ") + "'\n";
  for (const OptionSpec* spec : PositionalsOf(info)) {
    if (spec->choices[0] != '\0') text += "      values='" + Joined(Choices(*spec), " ") + "'\n";
  }
  return text + "      ;;\n";
}

}  // namespace

std::string BashCompletion() {
  std::vector<std::string> commands;
  for (const CommandInfo& info : CommandTable()) commands.push_back(info.name);
  std::string text =
      "# bash completion for prenorm; made from its option table.\n"
      "_prenorm_files() {\n"
      "  mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "  compopt -o filenames 2>/dev/null\n"
      "}\n\n"
      "_prenorm() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words='' values=''\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '" +
      Joined(commands, " ") +
      " help --help --version' -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandInfo& info : CommandTable()) text += CommandCase(info);
  return text +
         "  esac\n"
         "  case $cur in\n"
         "    -*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
         "    *)\n"
         "      _prenorm_files\n"
         "      [ -z \"$values\" ] || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -W \"$values\" -- "
         "\"$cur\")\n"
         "      ;;\n"
         "  esac\n"
         "}\n\n"
         "complete -F _prenorm prenorm\n";
}

}  // namespace prenorm::tools
