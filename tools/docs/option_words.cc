// What the makers of man pages and completions ask of an option.
#include <sstream>

#include "tools/docs/docs.h"

namespace prenorm::tools {
namespace {

std::vector<std::string> Split(const char* text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<const OptionSpec*> Select(const CommandInfo& info, bool positional) {
  std::vector<const OptionSpec*> specs;
  for (const OptionSpec& spec : OptionTable()) {
    if ((spec.commands & info.command) != 0 && IsPositional(spec) == positional) specs.push_back(&spec);
  }
  return specs;
}

}  // namespace

std::vector<const OptionSpec*> FlagsOf(const CommandInfo& info) { return Select(info, false); }
std::vector<const OptionSpec*> PositionalsOf(const CommandInfo& info) { return Select(info, true); }
std::vector<std::string> Names(const OptionSpec& spec) { return Split(spec.names, ','); }
std::vector<std::string> Choices(const OptionSpec& spec) { return Split(spec.choices, '|'); }

bool TakesFile(const OptionSpec& spec) {
  const std::string name = IsPositional(spec) ? spec.names : spec.value;
  return name == "FILE" || name == "MODEL" || name == "IN" || name == "OUT";
}

std::string Escaped(const std::string& text, const std::string& marked) {
  std::string result;
  for (const char c : text) {
    if (marked.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string Quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string Joined(const std::vector<std::string>& words, const std::string& between) {
  std::string result;
  for (size_t i = 0; i < words.size(); ++i) result += (i == 0 ? "" : between) + words[i];
  return result;
}

}  // namespace prenorm::tools
