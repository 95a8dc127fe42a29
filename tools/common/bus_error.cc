// The handler calls nothing that a signal handler may not call: it finds the file in /proc/self/maps with read alone.
#include "tools/common/bus_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/common/errors.h"

namespace prenorm::tools {
namespace {

std::atomic<bool> g_met{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// Not on the stack, of which a thread may have little: one thread only gets to use them.
char g_path[4096], g_read[4096];

void Say(const char* text) {
  for (size_t left = std::strlen(text); left > 0;) {
    const ssize_t n = write(STDERR_FILENO, text, left);
    if (n <= 0) return;
    text += n;
    left -= static_cast<size_t>(n);
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Lines are "begin-end rights offset device inode    path", the last of which may be missing. Fills g_path.
void FindMappedFile(uintptr_t address) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  enum { kBegin, kEnd, kRest, kPath } place = kBegin;
  uintptr_t begin = 0, end = 0;
  size_t length = 0;
  for (ssize_t n; (n = read(fd, g_read, sizeof g_read)) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      const char c = g_read[i];
      const int digit = HexDigit(c);
      if (c == '\n') {
        g_path[length] = '\0';
        if (length > 0) return void(close(fd));
        begin = end = 0;
        place = kBegin;
      } else if (place == kBegin) {
        if (digit >= 0) begin = begin * 16 + static_cast<uintptr_t>(digit);
        if (c == '-') place = kEnd;
      } else if (place == kEnd) {
        if (digit >= 0) end = end * 16 + static_cast<uintptr_t>(digit);
        if (c == ' ') place = kRest;
      } else {
        if (c == '/') place = kPath;
        if (place == kPath && begin <= address && address < end && length + 1 < sizeof g_path) g_path[length++] = c;
      }
    }
  }
  close(fd);
}

void OnBusError(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {  // No file, but e.g. broken memory: as if there were no handler.
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  if (g_met.exchange(true)) {
    for (;;) pause();  // Another thread is about to end the process.
  }
  FindMappedFile(reinterpret_cast<uintptr_t>(info->si_addr));
  if (isatty(STDERR_FILENO) != 0) Say("\n");  // Behind a part of the answer.
  Say("prenorm: a file became shorter while it was in use\n  '");
  Say(g_path[0] != '\0' ? g_path : "?");
  Say("': what was behind its end can no longer be read\n"
      "  Start again when the file is whole; with --no-mmap it is read before it is used.\n");
  _exit(kExitModel);
}

}  // namespace

void InstallBusErrorHandler() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = OnBusError;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace prenorm::tools
