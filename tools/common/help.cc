// Lays out the options of a command by group.
#include "tools/common/help.h"

#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

// "-n, --max-new-tokens N"
std::string Heading(const OptionSpec& spec) {
  std::string text;
  for (const char* c = spec.names; *c != '\0'; ++c) text += *c == ',' ? std::string(", ") : std::string(1, *c);
  if (spec.value[0] != '\0') text += std::string(" ") + spec.value;
  return text;
}

std::string Notes(const OptionSpec& spec) {
  const std::string value = spec.default_text[0] != '\0' ? spec.default_text : ValueText(spec, Options());
  std::string notes;
  if (spec.choices[0] != '\0') notes += std::string(" ") + spec.choices + ";";
  if (!value.empty() && value != "off") notes += " default: " + value + ";";
  if (spec.environment[0] != '\0') notes += std::string(" ") + spec.environment + ";";
  if (notes.empty()) return "";
  notes.pop_back();
  return " [" + notes.substr(1) + "]";
}

// " IN OUT [RECIPE]": in brackets what has a default.
std::string Positionals(Command command) {
  std::string text;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & command) == 0 || !IsPositional(spec)) continue;
    const bool needed = spec.default_text[0] == '\0' && ValueText(spec, Options()).empty();
    const std::string name = spec.names + std::string(IsList(spec) ? "..." : "");
    text += needed ? " " + name : " [" + name + "]";
  }
  return text;
}

}  // namespace

std::string CommandHelp(const CommandInfo& info, size_t width) {
  constexpr size_t kNarrow = 70;
  const size_t column = width < kNarrow ? 6 : 30;

  std::string text = std::string("prenorm ") + info.name + ": " + info.summary + "\n\nUsage:    prenorm " + info.name +
                     Positionals(info.command) + " [OPTION...]\nExample:  " + info.example + "\n";
  std::string group;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & info.command) == 0) continue;
    if (group != spec.group) {
      group = spec.group;
      text += "\n" + group + ":\n";
    }
    std::string heading = "  " + Heading(spec);
    if (heading.size() < column) {
      heading.resize(column, ' ');
    } else {
      heading.append("\n").append(column, ' ');
    }
    text += heading + Wrapped(spec.help + Notes(spec), column, width) + "\n";
  }
  return text;
}

std::string PrintedConfig(const CommandInfo& info, const ParsedOptions& parsed) {
  std::string text;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & info.command) == 0 || OptionName(spec) == "help" || OptionName(spec) == "print-config")
      continue;
    const Origin origin = parsed.origins.at(&spec);
    std::string value = ValueText(spec, parsed.options);
    if (origin == Origin::kBuiltIn && spec.default_text[0] != '\0') value = spec.default_text;
    text += OptionName(spec) + " = " + value + "  (" + OriginName(origin) + ")\n";
  }
  return text;
}

}  // namespace prenorm::tools
