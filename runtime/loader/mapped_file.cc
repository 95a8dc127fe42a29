// Mapping and reading of files with POSIX calls.
#include "runtime/loader/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

namespace prenorm {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status CheckIsRegularFile(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return Status();
  if (S_ISDIR(mode)) {
    return Status(StatusCode::kInvalidArgument,
                  "'" + path + "' is a folder, not a model file\nName the file inside it.");
  }
  return Status(StatusCode::kInvalidArgument, "'" + path + "' is no regular file: it is a device, pipe or socket");
}

Status ReadAll(const std::string& path, int fd, uint8_t* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    constexpr size_t kChunk = size_t{1} << 30;  // Linux reads at most 2 GiB in one call.
    const ssize_t n = read(fd, out + done, std::min(kChunk, size - done));
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0) {
      return Status(StatusCode::kIo, "'" + path + "' became shorter while it was read\nexpected " +
                                         std::to_string(size) + " bytes, found " + std::to_string(done));
    } else if (errno != EINTR) {
      return Status(StatusCode::kIo, "cannot read '" + path + "': " + ErrnoText(errno));
    }
  }
  return Status();
}

}  // namespace

MappedFile::~MappedFile() {
  if (owned_) munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      owned_(std::exchange(other.owned_, false)),
      writable_(std::exchange(other.writable_, false)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    if (owned_) munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    owned_ = std::exchange(other.owned_, false);
    writable_ = std::exchange(other.writable_, false);
  }
  return *this;
}

Result<MappedFile> MappedFile::Open(const std::string& path, FileAccess access) {
  // Non-blocking, so that a pipe without a writer is refused below instead of waited for.
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    const int error = errno;
    const StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound : StatusCode::kIo;
    return Status(code, "cannot open '" + path + "': " + ErrnoText(error));
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Status(StatusCode::kIo, "cannot stat '" + path + "': " + ErrnoText(errno));
  if (Status status = CheckIsRegularFile(path, info.st_mode); !status.ok()) return status;
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  if (file_bytes > std::numeric_limits<size_t>::max() / 2) {
    return Status(StatusCode::kOutOfMemory, "'" + path + "' is larger than the address space");
  }

  MappedFile file;
  file.size_ = static_cast<size_t>(file_bytes);
  file.writable_ = access != FileAccess::kMap;
  if (file.size_ == 0) return file;

  // kRead takes anonymous pages: page aligned like a mapping, and a failure is a value instead of an exception.
  const bool read = access == FileAccess::kRead;
  const int protection = access == FileAccess::kMap ? PROT_READ : PROT_READ | PROT_WRITE;
  const int flags = MAP_PRIVATE | (read ? MAP_ANONYMOUS : 0) | (access == FileAccess::kMapPrivate ? MAP_NORESERVE : 0);
  void* memory = mmap(nullptr, file.size_, protection, flags, read ? -1 : fd.get(), 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    return Status(error == ENOMEM ? StatusCode::kOutOfMemory : StatusCode::kIo,
                  std::string(read ? "no memory for" : "cannot map") + " '" + path + "': " + ErrnoText(error) + "\n" +
                      std::to_string(file.size_) + " bytes are needed");
  }
  file.data_ = static_cast<uint8_t*>(memory);
  file.owned_ = true;
  if (read) {
    if (Status status = ReadAll(path, fd.get(), file.data_, file.size_); !status.ok()) return status;
  }
  return file;
}

MappedFile MappedFile::Borrow(std::span<const uint8_t> bytes) {
  MappedFile file;
  file.data_ = const_cast<uint8_t*>(bytes.data());  // writable_ stays false: nobody is given this as mutable.
  file.size_ = bytes.size();
  return file;
}

}  // namespace prenorm
