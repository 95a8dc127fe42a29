// Exit codes and the three lines of an error.
#pragma once

#include <cstdint>
#include <string>

#include "prenorm/status.h"

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

/// Prints the message on stderr (what, where, what to do) and returns the exit code of its kind.
int Fail(const Status& status);

/// As Fail for errors that concern the model file: one that cannot be found or read counts as a bad model too.
int FailModel(const Status& status);

/// kInvalidArgument for a number that an option cannot have; `range` says in words which it can.
Status OutOfRange(const char* name, int64_t value, const std::string& range);

}  // namespace prenorm::tools
