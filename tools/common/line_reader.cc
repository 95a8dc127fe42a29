// libedit with a reader of our own, so that Ctrl-C returns from it and it can restore the terminal.
#include "tools/common/line_reader.h"

#include <cerrno>
#include <cstdio>

#include <poll.h>
#include <unistd.h>

#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"

#if PRENORM_HAVE_LIBEDIT
#include <clocale>
#include <cwchar>

#include <histedit.h>
#endif

namespace prenorm::tools {

#if PRENORM_HAVE_LIBEDIT

struct LineReader::Impl {
  std::string prompt;
  EditLine* editor = nullptr;
  History* history = nullptr;
};

namespace {

const char* PromptOf(EditLine* editor) {
  void* data = nullptr;
  el_get(editor, EL_CLIENTDATA, &data);
  return static_cast<const std::string*>(data)->c_str();
}

// Milliseconds between looks at the interrupt flag: a signal between such a look and the wait behind it, or one that
// another thread takes, does not end the wait.
constexpr int kLookEveryMs = 100;

// One character in the locale's encoding; 0 at the end of input, -1 after Ctrl-C.
int ReadCharacter(EditLine*, wchar_t* out) {
  std::mbstate_t state{};
  while (true) {
    if (InterruptFlag()) return -1;
    pollfd terminal{STDIN_FILENO, POLLIN, 0};
    if (poll(&terminal, 1, kLookEveryMs) <= 0) continue;
    char byte = 0;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got == 0) return 0;
    if (got < 0) {
      if (errno == EINTR && !InterruptFlag()) continue;
      return -1;
    }
    const size_t size = std::mbrtowc(out, &byte, 1, &state);
    if (size == static_cast<size_t>(-2)) continue;  // More bytes to come.
    if (size == static_cast<size_t>(-1)) *out = L'?';
    return 1;
  }
}

}  // namespace

LineReader::LineReader(std::string prompt) : impl_(std::make_unique<Impl>()) {
  std::setlocale(LC_CTYPE, "");
  impl_->prompt = std::move(prompt);
  impl_->editor = el_init("prenorm", stdin, stderr, stderr);
  if (impl_->editor == nullptr) return;
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, 200);
  el_set(impl_->editor, EL_CLIENTDATA, &impl_->prompt);
  el_set(impl_->editor, EL_PROMPT, PromptOf);
  el_set(impl_->editor, EL_EDITOR, "emacs");
  el_set(impl_->editor, EL_HIST, history, impl_->history);
  el_wset(impl_->editor, EL_GETCFN, ReadCharacter);
}

LineReader::~LineReader() {
  if (impl_->editor != nullptr) el_end(impl_->editor);
  if (impl_->history != nullptr) history_end(impl_->history);
}

std::optional<std::string> LineReader::Read() {
  if (impl_->editor == nullptr) return std::nullopt;
  int count = 0;
  const char* line = el_gets(impl_->editor, &count);
  if (line == nullptr || count <= 0) {
    Note("");
    return std::nullopt;
  }
  std::string text(line, static_cast<size_t>(count));
  if (text.ends_with('\n')) text.pop_back();
  HistEvent event;
  if (!text.empty()) history(impl_->history, &event, H_ENTER, text.c_str());
  return text;
}

#else

struct LineReader::Impl {
  std::string prompt;
};

LineReader::LineReader(std::string prompt) : impl_(std::make_unique<Impl>(Impl{std::move(prompt)})) {}
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::Read() {
  Progress(impl_->prompt);
  std::string line;
  char byte = 0;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR && !InterruptFlag()) continue;
    if (got <= 0 && (line.empty() || InterruptFlag())) {
      Note("");
      return std::nullopt;
    }
    if (got <= 0 || byte == '\n') return line;
    line += byte;
  }
}

#endif

}  // namespace prenorm::tools
