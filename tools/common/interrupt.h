// Ctrl-C as a flag that the engine looks at between layers; SIGTERM and SIGHUP as the same with an end.
#pragma once

#include <atomic>

namespace prenorm::tools {

/// Ignores SIGPIPE and SIGXFSZ (a closed pipe, or a file of more than `ulimit -f`, then shows as a failed write) and
/// handles three signals. The first SIGINT sets the flag; another one before the flag is cleared ends the process at
/// once with 130. SIGTERM and SIGHUP set the flag and IsEnding(), so that files under way are removed; what has not
/// ended after two seconds, or at the second of them, does so at once with 143 and 129.
void InstallSignalHandlers();

/// From now on each of these signals ends the process at once: for what looks at no flag and leaves nothing behind.
void EndAtInterrupt();

/// True after such a signal, until somebody sets it back to false.
std::atomic<bool>& InterruptFlag();

/// True after SIGTERM or SIGHUP: no conversation goes on.
bool IsEnding();

/// The exit code of a command that ends with `code`, by itself or by one of these two signals.
int ExitCodeAtEnd(int code);

}  // namespace prenorm::tools
