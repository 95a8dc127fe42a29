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

// Both 0 where they are not known.
size_t ColumnsOf(int terminal) {
  winsize size{};
  return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
size_t ColumnsAsked() {
  const char* columns = std::getenv("COLUMNS");
  return columns == nullptr ? 0 : static_cast<size_t>(std::max(std::atoi(columns), 0));
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
  size_t bytes = std::min(text.size(), ProgressWidth());
  while (bytes < text.size() && bytes > 0 && (text[bytes] & 0xC0) == 0x80) --bytes;  // Between characters.
  const std::string line = "\r\033[K" + std::string(text.substr(0, bytes));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

size_t LineWidth() {
  size_t columns = ColumnsAsked();
  if (columns == 0) columns = ColumnsOf(STDOUT_FILENO);
  return columns == 0 ? 100 : std::min<size_t>(columns, 120);
}

size_t ProgressWidth() {
  size_t columns = ColumnsOf(STDERR_FILENO);
  if (columns == 0) columns = ColumnsAsked();
  return (columns == 0 ? 80 : columns) - 1;  // Some terminals begin a new line behind the last column.
}

bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }
bool StdinIsTerminal() { return isatty(STDIN_FILENO) == 1; }
bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

}  // namespace prenorm::tools
