// write(2) in full, with EPIPE as an ordinary end.
#include "tools/common/answer.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <unistd.h>

#include "tools/common/errors.h"
#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {

bool Answer::Write(std::string_view text) {
  while (!text.empty() && !closed_ && status_.ok()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      if (written > 0) last_ = text[static_cast<size_t>(written) - 1];
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno == EINTR) {
      if (InterruptFlag()) return false;  // A full pipe must not keep Ctrl-C waiting.
    } else {
      status_ = Status(StatusCode::kIo, std::string("The answer could not be written.\nstandard output: ") +
                                            std::strerror(errno) + "\nFree some space or write elsewhere.");
    }
  }
  return !closed_ && status_.ok();
}

void Answer::EndLineOnTerminal() {
  if (last_ != '\n' && StdoutIsTerminal()) Write("\n");
}

int PrintAnswer(std::string_view text) {
  Answer answer;
  answer.Write(text);
  return answer.status().ok() ? kExitOk : Fail(answer.status());
}

}  // namespace prenorm::tools
