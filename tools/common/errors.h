// Exit codes and the three lines of an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "prenorm/status.h"
#include "tools/common/help.h"

namespace prenorm::tools {

/// The exit codes that scripts rely on.
enum ExitCode : int {
  kExitOk = 0,
  kExitOther = 1,
  kExitUsage = 2,
  kExitModel = 3,     ///< Model file missing, bad or unsupported.
  kExitMemory = 4,    ///< Does not fit in memory.
  kExitContext = 5,   ///< Prompt too long.
  kExitTemplate = 6,  ///< Chat template or grammar.
  kExitVerify = 7,    ///< A verification failed.
  kExitInterrupted = 130,
};

/// Which command runs: what Fail advises names options that it has.
void SetCommand(const CommandInfo& info);

/// Prints the message on stderr (what, where, what to do) and returns the exit code of its kind.
int Fail(const Status& status);

/// `c`, or an escape in place of a control character: names in files come from strangers, and could command the terminal.
std::string Shown(char c);

/// A message of several lines, all but the first of them indented.
std::string Indented(std::string_view message);

/// As Fail for errors that concern the model file: one that cannot be found or read counts as a bad model too.
int FailModel(const Status& status);

/// kInvalidArgument for a number that an option cannot have; `range` says in words which it can.
Status OutOfRange(const char* name, int64_t value, const std::string& range);

/// Of the value of --threads. Errors: OutOfRange.
Status CheckThreads(int64_t threads);

}  // namespace prenorm::tools
