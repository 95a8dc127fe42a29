// Help texts, made from the option table.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/common/options.h"

namespace prenorm::tools {

/// What help says of a command, besides its options.
struct CommandInfo {
  Command command;
  const char* name;
  const char* summary;
  const char* example;
};

/// Every command, in the order of help. Help, man pages and completions are made from this and the option table.
std::span<const CommandInfo> CommandTable();

/// In lines of at most `width` columns; in narrow ones what an option does stands below its name.
std::string CommandHelp(const CommandInfo& info, size_t width);
std::string PrintedConfig(const CommandInfo& info, const ParsedOptions& parsed);

}  // namespace prenorm::tools
