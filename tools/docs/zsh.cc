// Completion for zsh: the specifications that _arguments reads, for each command.
#include "tools/docs/docs.h"

namespace prenorm::tools {
namespace {

std::string Action(const OptionSpec& spec) {
  if (spec.choices[0] != '\0') return "(" + Joined(Choices(spec), " ") + ")";
  return TakesFile(spec) ? "_files" : " ";
}

// '(-n --max-new-tokens)'{-n,--max-new-tokens}'[New tokens at most]:N: '
std::string FlagSpec(const OptionSpec& spec) {
  const std::vector<std::string> names = Names(spec);
  std::string rest = "[" + Escaped(spec.help, "[]:\\") + "]";
  if (spec.value[0] != '\0') rest += std::string(":") + spec.value + ":" + Action(spec);
  if (names.size() == 1) return Quoted(names[0] + rest);
  return Quoted("(" + Joined(names, " ") + ")") + "{" + Joined(names, ",") + "}" + Quoted(rest);
}

std::string CommandCase(const CommandInfo& info) {
  std::string text = std::string("    ") + info.name + ")\n      _arguments -s";
  for (const OptionSpec* spec : FlagsOf(info)) text += " \\\n        " + FlagSpec(*spec);
  size_t place = 0;
  for (const OptionSpec* spec : PositionalsOf(info)) {
    ++place;
    text += " \\\n        " + Quoted(std::to_string(place) + ":" + spec->names + ":" + Action(*spec));
  }
  return text + "\n      ;;\n";
}

}  // namespace

std::string ZshCompletion() {
  std::string text =
      "#compdef prenorm\n"
      "# zsh completion for prenorm; made from its option table.\n"
      "_prenorm() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const CommandInfo& info : CommandTable()) {
    text += "      " + Quoted(std::string(info.name) + ":" + Escaped(info.summary, ":\\")) + "\n";
  }
  text +=
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandInfo& info : CommandTable()) text += CommandCase(info);
  return text +
         "  esac\n"
         "}\n\n"
         "if [[ $funcstack[1] == _prenorm ]]; then\n"
         "  _prenorm \"$@\"\n"
         "else\n"
         "  compdef _prenorm prenorm\n"
         "fi\n";
}

}  // namespace prenorm::tools
