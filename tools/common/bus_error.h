// What a user sees when a mapped file becomes shorter under the command.
#pragma once

namespace prenorm::tools {

/// Has SIGBUS, which reading behind the end of such a file raises, end the process with a message that names the file
/// and with kExitModel. Other reasons for the signal end it as before.
void InstallBusErrorHandler();

}  // namespace prenorm::tools
