// sigaction without SA_RESTART, so that blocking reads and writes return.
#include "tools/common/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "tools/common/errors.h"

namespace prenorm::tools {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void OnInterrupt(int) {
  if (g_interrupted.exchange(true)) _exit(kExitInterrupted);
}

}  // namespace

void InstallSignalHandlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);  // Past `ulimit -f` writing fails, with a message of ours.
}

std::atomic<bool>& InterruptFlag() { return g_interrupted; }

}  // namespace prenorm::tools
