// Reading files and standard input whole, by read(2).
#include "tools/common/prompt.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prenorm/output_file.h"
#include "tools/common/interrupt.h"
#include "tools/fetch/catalog.h"

namespace prenorm::tools {
namespace {

constexpr size_t kMostBytes = 0x7FFFFFFF;  // As tokenizers take: /dev/zero has no end.

Status Interrupted() { return {StatusCode::kCancelled, "Interrupted."}; }

Result<std::string> ReadAll(int fd, const std::string& name) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (InterruptFlag()) return Interrupted();
    if (got > 0) {
      text.append(buffer, static_cast<size_t>(got));
      if (text.size() <= kMostBytes) continue;
      return Status(StatusCode::kInvalidArgument, "A file is too long.\n" + name + ": more than " +
                                                      std::to_string(kMostBytes) + " bytes\nGive another one.");
    } else if (got == 0) {
      return text;
    } else if (errno != EINTR) {
      return Status(StatusCode::kIo,
                    "A file cannot be read.\n" + name + ": " + std::strerror(errno) + "\nGive another one.");
    }
  }
}

// Whether something is piped or redirected in. Terminals and devices such as /dev/null are not read,
// nor is a closed input.
bool InputIsPiped() {
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode) || S_ISSOCK(info.st_mode);
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == EINTR && InterruptFlag()) return Interrupted();  // It waited for a pipe's other end.
  if (fd < 0) {
    const StatusCode code = errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIo;
    return Status(code, "A file cannot be opened.\n" + path + ": " + std::strerror(errno) + "\nCheck the path.");
  }
  Result<std::string> text = ReadAll(fd, path);
  close(fd);
  return text;
}

Status WriteFile(const std::string& path, const std::string& content) {
  Result<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  if (Status status = file->Write(content.data(), content.size()); !status.ok()) return status;
  return file->Commit();
}

std::string Unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '\\':
      case '"':
      case '\'':
        out += text[i];
        break;
      default:
        (out += '\\') += text[i];
    }
  }
  return out;
}

bool IsNoModel(const Options& options) {
  return !options.model.empty() && !FindModelFile(options.model).ok() && FindInCatalog(options.model) == nullptr;
}

Status MissingText(const Options& options, const std::string& what, const std::string& inputs,
                   const std::string& with_text, const std::string& example) {
  const std::string& model = options.model;
  return {StatusCode::kInvalidArgument,
          "There is no " + what + ".\n" + inputs + ": expected one of them, found none\n" +
              (IsNoModel(options) ? "The model would be '" + model + "', which is neither a file nor in the catalog: " +
                                        with_text + " \"" + model + "\""
                                  : "For example: " + example)};
}

Result<std::optional<std::string>> ReadPrompt(const Options& options) {
  if (options.file && options.prompt) {
    return Status(StatusCode::kInvalidArgument,
                  "The text is given twice.\n--file " + *options.file + " and --prompt\nGive one of them.");
  }
  if (options.file) {
    Result<std::string> text = ReadFile(*options.file);
    if (!text.ok()) return text.status();
    return std::optional<std::string>(std::move(text).value());
  }
  std::optional<std::string> text;
  if (options.prompt) text = options.escape ? Unescape(*options.prompt) : *options.prompt;
  if (InputIsPiped()) {
    Result<std::string> piped = ReadAll(STDIN_FILENO, "standard input");
    if (!piped.ok()) return piped.status();
    if (!piped->empty()) text = text ? *piped + "\n" + *text : *piped;
  }
  return text;
}

}  // namespace prenorm::tools
