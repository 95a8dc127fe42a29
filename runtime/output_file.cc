// A temporary name, then rename(2).
#include "prenorm/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace prenorm {
namespace {

// Of its own for every file under way: two that are written to one place at once must not mix.
std::string TemporaryName(const std::string& place) {
  static std::atomic<unsigned> next{0};
  return place + "." + std::to_string(getpid()) + "-" + std::to_string(next++) + ".partial";
}

}  // namespace

Status OutputFile::Failed() const {
  return Status(StatusCode::kIo, "a file cannot be written\n'" + path_ + "': " +
                                     std::generic_category().message(errno) + "\nCheck folder, rights and space.");
}

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile output;
  output.path_ = output.place_ = path;
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists) {
    std::error_code error;
    const std::filesystem::path place = std::filesystem::canonical(path, error);
    if (!error) output.place_ = place.string();
  }
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return output.Failed();
  }
  if (!exists || S_ISREG(info.st_mode)) {
    // A killed process may have left one of these names: in a container the next one gets the same number.
    do {
      output.temporary_ = TemporaryName(output.place_);
      output.file_.reset(std::fopen(output.temporary_.c_str(), "wbxe"));
    } while (output.file_ == nullptr && errno == EEXIST);
  } else {
    output.file_.reset(std::fopen(output.place_.c_str(), "wbe"));
  }
  if (output.file_ == nullptr) return output.Failed();
  if (exists && !output.temporary_.empty()) fchmod(fileno(output.file_.get()), info.st_mode & 07777);
  return output;
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && !temporary_.empty()) std::remove(temporary_.c_str());
}

Status OutputFile::Write(const void* data, size_t bytes) {
  return std::fwrite(data, 1, bytes, file_.get()) == bytes ? Status() : Failed();
}

Status OutputFile::Commit() {
  // Closing reports what the system could not write, network folders above all; the buffer is empty before, so that a
  // failure leaves the file to the destructor.
  if (std::fflush(file_.get()) != 0) return Failed();
  const bool closed = std::fclose(file_.release()) == 0;
  if (closed && (temporary_.empty() || std::rename(temporary_.c_str(), place_.c_str()) == 0)) return Status();
  Status failed = Failed();
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  return failed;
}

}  // namespace prenorm
