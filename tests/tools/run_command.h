// Runs the built prenorm command as a user does: arguments, input, environment in; exit code, stdout, stderr out.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace prenorm {

struct CommandResult {
  int exit_code = -1;  ///< 128 + n after signal n, as a shell says it.
  std::string out;
  std::string err;
};

struct CommandInput {
  /// Bytes piped to standard input; none: /dev/null.
  std::optional<std::string> stdin_text = std::nullopt;
  bool close_stdin = false;
  /// "NAME=value" sets, "NAME" alone unsets.
  std::vector<std::string> environment = {};
  std::string working_folder = {};
  /// Closes the reading end of stdout after that many bytes, as `head -c` does.
  std::optional<size_t> close_stdout_after = std::nullopt;
  /// Sends a signal once that many bytes have come from stdout.
  std::optional<size_t> interrupt_after = std::nullopt;
  int signal = SIGINT;
  /// Called then, in place of a signal.
  std::function<void()> on_interrupt = {};
  /// Limits the process as `ulimit -v` does; 0: not.
  int address_space_kilobytes = 0;
  /// Limits each file that is written as `ulimit -f` does: more is refused as on a full disk.
  std::optional<size_t> file_bytes = std::nullopt;
  /// Standard output goes there instead of to the result; "": it is closed.
  std::optional<std::string> stdout_path = std::nullopt;
};

CommandResult RunCommand(const std::vector<std::string>& arguments, const CommandInput& input = {});

/// A program at a pseudo-terminal.
class TerminalCommand {
 public:
  /// `environment` as in CommandInput.
  explicit TerminalCommand(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});
  ~TerminalCommand();

  void Type(const std::string& text);
  void Send(int signal);
  /// Reads until `text` has come `times` times since the start; false after ten seconds or at the end.
  bool WaitFor(const std::string& text, int times = 1);
  /// Waits for the end. Returns the exit code; a command that stays silent for ten seconds is killed.
  int Wait();
  /// Types Ctrl-D until the command ends: one that comes while the line editor changes the terminal's mode is lost.
  int EndInput();
  const std::string& output() const { return output_; }

 private:
  bool ReadSome(int patience_ms = 10000);
  int pid_ = -1;
  int terminal_ = -1;
  std::string output_;
};

/// The tiny model of the tree.
std::string TinyModel();

}  // namespace prenorm
