// Mapping and reading of files with POSIX calls.
#include "runtime/loader/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status CheckIsRegularFile(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return Status();
  if (S_ISDIR(mode)) {
    return Status(StatusCode::kBadModel,
                  "'" + path + "' is a folder, not a file\nexpected a file\nName the file inside.");
  }
  return Status(StatusCode::kBadModel, "'" + path +
                                           "' is no regular file\nexpected a file, found a device, pipe or socket\n"
                                           "Write its content into a file first.");
}

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

Status ReadAll(const std::string& path, int fd, uint8_t* out, size_t begin, size_t end) {
  for (size_t place = begin; place < end;) {
    constexpr size_t kChunk = size_t{1} << 30;  // Linux reads at most 2 GiB in one call.
    const ssize_t n = pread(fd, out + place, std::min(kChunk, end - place), static_cast<off_t>(place));
    if (n > 0) {
      place += static_cast<size_t>(n);
    } else if (n == 0) {
      return Status(StatusCode::kIo, "'" + path + "' became shorter while it was read\nexpected " +
                                         std::to_string(end) + " bytes, found " + std::to_string(place));
    } else if (errno != EINTR) {
      return Status(StatusCode::kIo, "cannot read a file of the model\n'" + path + "': " + ErrnoText(errno) +
                                         "\nCheck the disk it is on.");
    }
  }
  return Status();
}

// Read-only, from the beginning of a large page on: only so can the kernel map the file in such.
void* MapAtLargePage(int fd, size_t bytes) {
  constexpr size_t kLargePage = size_t{2} << 20;
  if (bytes < kLargePage) return mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  const size_t reserved = bytes + kLargePage;
  void* room = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* first = static_cast<uint8_t*>(room);
  uint8_t* begin = first + (kLargePage - reinterpret_cast<uintptr_t>(room) % kLargePage) % kLargePage;
  uint8_t* end = begin + (bytes + page - 1) / page * page;
  void* memory = mmap(begin, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    munmap(room, reserved);
    errno = error;
    return MAP_FAILED;
  }
  if (begin != first) munmap(first, static_cast<size_t>(begin - first));
  if (end != first + reserved) munmap(end, static_cast<size_t>(first + reserved - end));
  return memory;
}

// Fewer and cheaper page faults where the kernel grants it; otherwise nothing changes.
void AskForLargePages(void* memory, size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

}  // namespace

MappedFile::~MappedFile() {
  if (owned_) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(owned_, other.owned_);
  std::swap(writable_, other.writable_);
  std::swap(private_, other.private_);
  std::swap(modified_ns_, other.modified_ns_);
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Result<MappedFile> MappedFile::Open(const std::string& path, FileAccess access) {
  // Non-blocking, so that a pipe without a writer is refused below instead of waited for.
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    const int error = errno;
    const StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound : StatusCode::kIo;
    return Status(code, "cannot open '" + path + "': " + ErrnoText(error));
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return Status(StatusCode::kIo, "cannot look at a file of the model\n'" + path + "': " + ErrnoText(errno));
  if (Status status = CheckIsRegularFile(path, info.st_mode); !status.ok()) return status;
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  if (file_bytes > std::numeric_limits<size_t>::max() / 2) {
    return Status(StatusCode::kOutOfMemory, "'" + path + "' is larger than the address space");
  }

  MappedFile file;
  file.size_ = static_cast<size_t>(file_bytes);
  file.writable_ = access != FileAccess::kMap;
  file.modified_ns_ = ModifiedNs(info);
  if (file.size_ == 0) return file;

  // kRead takes anonymous pages: page aligned like a mapping, and a failure is a value instead of an exception.
  const bool read = access == FileAccess::kRead;
  const int flags = MAP_PRIVATE | (read ? MAP_ANONYMOUS : MAP_NORESERVE);
  void* memory = access == FileAccess::kMap
                     ? MapAtLargePage(fd.get(), file.size_)
                     : mmap(nullptr, file.size_, PROT_READ | PROT_WRITE, flags, read ? -1 : fd.get(), 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    return Status(error == ENOMEM ? StatusCode::kOutOfMemory : StatusCode::kIo,
                  std::string(read ? "no memory for" : "cannot map") + " '" + path + "': " + ErrnoText(error) + "\n" +
                      std::to_string(file.size_) + " bytes are needed");
  }
  file.data_ = static_cast<uint8_t*>(memory);
  file.owned_ = true;
  if (read) {
    AskForLargePages(memory, file.size_);
    if (Status status = ReadAll(path, fd.get(), file.data_, 0, file.size_); !status.ok()) return status;
  }
  if (!read) {
    file.private_ = access == FileAccess::kMapPrivate;
    file.path_ = path;
    file.fd_ = fd.Release();
  }
  return file;
}

Status MappedFile::CheckUnchanged() const {
  if (fd_ < 0) return Status();
  struct stat info;
  if (fstat(fd_, &info) != 0)
    return Status(StatusCode::kIo, "cannot look at a file of the model\n'" + path_ + "': " + ErrnoText(errno));
  if (static_cast<uint64_t>(info.st_size) == size_ && ModifiedNs(info) == modified_ns_) return Status();
  return Status(StatusCode::kBadModel, "a file of the model was changed while it was in use\n'" + path_ + "': had " +
                                           std::to_string(size_) + " bytes when it was opened, has " +
                                           std::to_string(info.st_size) +
                                           " now, written later\n"
                                           "Load the model again; without mapping (--no-mmap) if its file may change.");
}

void MappedFile::PreferLargePages() {
  if (owned_) AskForLargePages(data_, size_);
}

void MappedFile::CollectLargePages() const {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;  // Linux 6.1
#endif
  if (owned_) madvise(data_, size_, MADV_COLLAPSE);
}

Status MappedFile::Detach(size_t begin, size_t end) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin >= end) return Status();
  void* memory =
      mmap(data_ + begin, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (memory == MAP_FAILED) {
    return Status(StatusCode::kOutOfMemory, "no memory for the weights of '" + path_ + "': " + ErrnoText(errno) + "\n" +
                                                std::to_string(end - begin) + " bytes are needed");
  }
  AskForLargePages(memory, end - begin);
  return Status();
}

void MappedFile::Release(size_t begin, size_t end) const {
  const bool file_backed = owned_ && (!writable_ || fd_ >= 0);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (file_backed && begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

Status MappedFile::Fill(size_t begin, size_t end) { return ReadAll(path_, fd_, data_, begin, end); }

MappedFile MappedFile::Borrow(std::span<const uint8_t> bytes) {
  MappedFile file;
  file.data_ = const_cast<uint8_t*>(bytes.data());  // writable_ stays false: nobody is given this as mutable.
  file.size_ = bytes.size();
  return file;
}

Result<MappedFile> MappedFile::Copy(std::span<const uint8_t> bytes, const std::string& name) {
  MappedFile file;
  file.size_ = bytes.size();
  file.writable_ = true;
  if (bytes.empty()) return file;
  void* memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Status(StatusCode::kOutOfMemory, "no memory for a copy of " + name + ": " + ErrnoText(errno) + "\n" +
                                                std::to_string(bytes.size()) + " bytes are needed");
  }
  file.data_ = static_cast<uint8_t*>(memory);
  file.owned_ = true;
  AskForLargePages(memory, bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return file;
}

}  // namespace prenorm
