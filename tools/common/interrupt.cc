// sigaction without SA_RESTART, so that blocking reads and writes return.
#include "tools/common/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "tools/common/errors.h"

namespace prenorm::tools {
namespace {

std::atomic<bool> g_interrupted{false}, g_ends_at_once{false};
std::atomic<int> g_ending{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free, "for signal handlers");

constexpr unsigned kPatienceSeconds = 2;

int ExitCodeOfSignal(int signal) { return 128 + signal; }  // As a shell says it: 130 after SIGINT.

void OnInterrupt(int signal) {
  if (g_interrupted.exchange(true) || g_ends_at_once) _exit(ExitCodeOfSignal(signal));
}

void OnEnd(int signal) {
  if (g_ending.exchange(signal) != 0 || g_ends_at_once) _exit(ExitCodeOfSignal(signal));
  g_interrupted = true;
  alarm(kPatienceSeconds);
}

void OnAlarm(int) { _exit(ExitCodeOfSignal(g_ending)); }

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void InstallSignalHandlers() {
  static_assert(kExitInterrupted == 128 + SIGINT);
  Handle(SIGINT, OnInterrupt);
  Handle(SIGALRM, OnAlarm);
  for (const int signal : {SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) Handle(signal, OnEnd);  // As nohup has it.
  }
  Handle(SIGPIPE, SIG_IGN);
  Handle(SIGXFSZ, SIG_IGN);  // Past `ulimit -f` writing fails, with a message of ours.
}

void EndAtInterrupt() {
  g_ends_at_once = true;
  if (g_interrupted) _exit(ExitCodeOfSignal(g_ending != 0 ? g_ending.load() : SIGINT));
}

std::atomic<bool>& InterruptFlag() { return g_interrupted; }

bool IsEnding() { return g_ending != 0; }

int ExitCodeAtEnd(int code) { return IsEnding() ? ExitCodeOfSignal(g_ending) : code; }

}  // namespace prenorm::tools
