// Help texts, made from the option table.
#pragma once

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

std::string CommandHelp(const CommandInfo& info);
std::string PrintedConfig(const CommandInfo& info, const ParsedOptions& parsed);

}  // namespace prenorm::tools
