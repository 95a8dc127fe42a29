// Terminal queries by isatty; colours by the conventions of no-color.org and CLICOLOR.
#include "tools/common/terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace prenorm::tools {
namespace {

bool g_color = false;

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool AutoColor() {
  if (IsSet("NO_COLOR")) return false;
  if (IsSet("CLICOLOR_FORCE") && std::string_view(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  const char* term = std::getenv("TERM");
  return StderrIsTerminal() && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

void SetColor(std::string_view when) { g_color = when == "always" || (when == "auto" && AutoColor()); }

std::string Styled(Style style, std::string_view text) {
  if (!g_color) return std::string(text);
  return (style == Style::kError ? "\033[1;31m" : "\033[2m") + std::string(text) + "\033[0m";
}

void Note(std::string_view text) { NotePart(std::string(text) + "\n"); }

void NotePart(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void Progress(std::string_view text) {
  if (!StderrIsTerminal()) return;
  const std::string line = "\r\033[K" + std::string(text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

size_t LineWidth() {
  constexpr size_t kMost = 120;
  const char* columns = std::getenv("COLUMNS");
  if (const int wanted = columns == nullptr ? 0 : std::atoi(columns); wanted > 0) {
    return std::min<size_t>(static_cast<size_t>(wanted), kMost);
  }
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::min<size_t>(size.ws_col, kMost) : 100;
}

bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }
bool StdinIsTerminal() { return isatty(STDIN_FILENO) == 1; }
bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

}  // namespace prenorm::tools
