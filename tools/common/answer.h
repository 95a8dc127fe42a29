// Standard output: answer bytes and nothing else.
#pragma once

#include <string_view>

#include "prenorm/status.h"

namespace prenorm::tools {

/// Writes to standard output at once, without a buffer of its own.
class Answer {
 public:
  /// False when nobody reads any more or writing failed: the command should end.
  bool Write(std::string_view text);

  /// Ends a line of text on a terminal, so that the shell's prompt starts on its own line; files get no extra byte.
  void EndLineOnTerminal();

  /// Whether the reader has gone (`| head`): a quiet success.
  bool closed() const { return closed_; }
  /// Why writing failed otherwise.
  const Status& status() const { return status_; }

 private:
  bool closed_ = false;
  char last_ = '\n';
  Status status_;
};

/// Prints `text` as the whole output of a command. Returns the exit code.
int PrintAnswer(std::string_view text);

}  // namespace prenorm::tools
