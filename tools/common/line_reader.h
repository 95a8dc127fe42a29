// Lines typed at a terminal, with editing and history where libedit is there.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace prenorm::tools {

class LineReader {
 public:
  /// `prompt` is shown on stderr before each line.
  explicit LineReader(std::string prompt);
  ~LineReader();

  /// The next line without its end; nothing at the end of input or after Ctrl-C (see InterruptFlag).
  std::optional<std::string> Read();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace prenorm::tools
