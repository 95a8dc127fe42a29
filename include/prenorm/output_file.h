// A file that appears when it is complete, and not before.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "prenorm/status.h"

namespace prenorm {

/// Writes under another name beside the file's place, and takes that place at the end: whatever happens in between, a
/// full disk for one, an older file there stays as it was and nothing half-written is left. Only a process that is
/// killed leaves what it wrote, FILE.PROCESS-NUMBER.partial, which is in nobody's way and may be removed. The new file
/// has the older one's rights. Devices and pipes are written as they are; a link to a file stays, and that file is
/// written. Of several that are written to one place at once, the last to end stays. Used by one thread at a time.
class OutputFile {
 public:
  /// Errors: kIo.
  static Result<OutputFile> Create(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Appends `bytes` bytes. Errors: kIo, with the system's reason.
  Status Write(const void* data, size_t bytes);
  /// Ends the file and puts it in its place. Errors: kIo; then nothing has changed there.
  Status Commit();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  OutputFile() = default;
  Status Failed() const;

  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;       // As given, for messages.
  std::string place_;      // Behind links.
  std::string temporary_;  // Empty: `place_` itself.
};

}  // namespace prenorm
