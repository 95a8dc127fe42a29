// fork, exec, poll.
#include "tests/tools/run_command.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace prenorm {
namespace {

int ExitCode(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void Change(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) {
      unsetenv(variable.c_str());
    } else {
      setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
  }
}

// One thread unless a test says otherwise: the tiny model gains nothing from more, and tests run side by side.
[[noreturn]] void Exec(const std::vector<std::string>& arguments) {
  setenv("PRENORM_THREADS", "1", 0);
  std::vector<char*> argv = {const_cast<char*>("prenorm")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(PRENORM_COMMAND, argv.data());
  _exit(127);
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments, const CommandInput& input) {
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    if (input.address_space_kilobytes != 0) {
      const rlim_t bytes = static_cast<rlim_t>(input.address_space_kilobytes) * 1024;
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_AS, &limit);
    }
    if (input.file_bytes) {
      const rlimit limit{*input.file_bytes, *input.file_bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (input.close_stdin) {
      close(STDIN_FILENO);
    } else if (input.stdin_text) {
      dup2(in[0], STDIN_FILENO);
    } else {
      dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    }
    if (!input.stdout_path) {
      dup2(out[1], STDOUT_FILENO);
    } else if (input.stdout_path->empty()) {
      close(STDOUT_FILENO);
    } else {
      dup2(open(input.stdout_path->c_str(), O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    }
    dup2(err[1], STDERR_FILENO);
    Change(input.environment);
    if (!input.working_folder.empty() && chdir(input.working_folder.c_str()) != 0) _exit(126);
    Exec(arguments);
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  // Little room in the pipe: a command that writes on while nobody reads has to wait.
  if (input.interrupt_after) fcntl(out[0], F_SETPIPE_SZ, 4096);
  std::signal(SIGPIPE, SIG_IGN);
  if (input.stdin_text) {
    // Inputs of tests fit into the pipe, so this never waits for the reader.
    if (write(in[1], input.stdin_text->data(), input.stdin_text->size()) < 0) std::abort();
  }
  close(in[1]);

  CommandResult result;
  pollfd files[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  bool interrupted = false;
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    poll(files, 2, -1);
    for (pollfd& file : files) {
      if (file.fd < 0 || file.revents == 0) continue;
      char buffer[4096];
      const ssize_t got = read(file.fd, buffer, sizeof buffer);
      const bool is_out = file.fd == out[0];
      if (got > 0) (is_out ? result.out : result.err).append(buffer, static_cast<size_t>(got));
      if (got <= 0 || (is_out && input.close_stdout_after && result.out.size() >= *input.close_stdout_after)) {
        close(file.fd);
        file.fd = -1;
      }
      if (is_out && input.interrupt_after && !interrupted && result.out.size() >= *input.interrupt_after) {
        interrupted = true;
        input.on_interrupt ? input.on_interrupt() : void(kill(pid, input.signal));
      }
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  result.exit_code = ExitCode(status);
  return result;
}

TerminalCommand::TerminalCommand(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
  pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (pid_ == 0) {
    setenv("TERM", "dumb", 1);
    Change(environment);
    Exec(arguments);
  }
}

TerminalCommand::~TerminalCommand() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(terminal_);
}

void TerminalCommand::Type(const std::string& text) {
  if (write(terminal_, text.data(), text.size()) < 0) output_ += "[cannot type]";
}

void TerminalCommand::Send(int signal) { kill(pid_, signal); }

bool TerminalCommand::ReadSome(int patience_ms) {
  pollfd file{terminal_, POLLIN, 0};
  if (poll(&file, 1, patience_ms) <= 0) return false;
  char buffer[4096];
  const ssize_t got = read(terminal_, buffer, sizeof buffer);
  if (got > 0) output_.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

bool TerminalCommand::WaitFor(const std::string& text, int times) {
  while (true) {
    int count = 0;
    for (size_t at = 0; (at = output_.find(text, at)) != std::string::npos; at += text.size()) ++count;
    if (count >= times) return true;
    if (!ReadSome()) return false;
  }
}

int TerminalCommand::EndInput() {
  for (int i = 0; i < 30; ++i) {
    Type("\x15\x04");  // Ctrl-U first: a Ctrl-D that meets the terminal between its modes stays in the line as a
                       // character.
    while (ReadSome(300)) {
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    return ExitCode(status);
  }
  return Wait();
}

int TerminalCommand::Wait() {
  while (ReadSome()) {
  }
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) {  // Still there: about to end, or silent for ten seconds and stuck.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (waitpid(pid_, &status, WNOHANG) == 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
    }
  }
  pid_ = -1;
  return ExitCode(status);
}

std::string TinyModel() { return std::string(PRENORM_SOURCE_DIR) + "/models/tiny/prenorm-tiny.gguf"; }

}  // namespace prenorm
