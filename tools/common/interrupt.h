// Ctrl-C as a flag that the engine looks at between layers.
#pragma once

#include <atomic>

namespace prenorm::tools {

/// Installs the SIGINT handler and ignores SIGPIPE and SIGXFSZ (a closed pipe, or a file of more than `ulimit -f`, then
/// shows as a failed write).
/// The first SIGINT sets the flag; another one before the flag is cleared ends the process at once with 130.
void InstallSignalHandlers();

/// True after a SIGINT, until somebody sets it back to false.
std::atomic<bool>& InterruptFlag();

}  // namespace prenorm::tools
