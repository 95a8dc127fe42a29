// Texts made from the tables of commands and options: man pages, and completions for three shells.
#pragma once

#include <string>
#include <vector>

#include "tools/common/help.h"
#include "tools/common/options.h"

namespace prenorm::tools {

/// prenorm.1, and prenorm-COMMAND.1. `version` e.g. "0.1.0".
std::string OverviewManPage(const std::string& version);
std::string CommandManPage(const CommandInfo& info, const std::string& version);

std::string BashCompletion();
std::string ZshCompletion();
std::string FishCompletion();

/// The options of a command, without positionals, and its positionals.
std::vector<const OptionSpec*> FlagsOf(const CommandInfo& info);
std::vector<const OptionSpec*> PositionalsOf(const CommandInfo& info);
/// "-n,--max-new-tokens" in parts.
std::vector<std::string> Names(const OptionSpec& spec);
/// "a|b|c" in parts.
std::vector<std::string> Choices(const OptionSpec& spec);
/// Whether the value of an option is a file.
bool TakesFile(const OptionSpec& spec);
/// `text` with every character of `marked` preceded by a backslash.
std::string Escaped(const std::string& text, const std::string& marked);
/// `text` in single quotes for a shell of Bourne's family.
std::string Quoted(const std::string& text);
/// All words, with `between` between them.
std::string Joined(const std::vector<std::string>& words, const std::string& between);

}  // namespace prenorm::tools
