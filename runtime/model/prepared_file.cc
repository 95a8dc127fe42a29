// Reads and writes with POSIX calls; the lock is flock's, which ends with the process.
#include "runtime/model/prepared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/hash64.h"
#include "runtime/loader/mapped_file.h"

namespace prenorm {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'P', 'R', 'E', 'P', 'A', 'R', 'E', '\n'};
constexpr size_t kPieceBytes = size_t{1} << 20;
// Written at once and at multiples of itself: the kernel then keeps large folios, which it can map as large pages.
constexpr size_t kBufferBytes = size_t{8} << 20;

Status SystemError(const std::string& what, const std::string& path, int error) {
  return {StatusCode::kIo, what + "\n'" + path + "': " + std::generic_category().message(error) +
                               "\nFree some space, or name a folder that can be written."};
}

constexpr const char* kCannotWrite = "cannot write the prepared weights";

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Status Cancelled() { return {StatusCode::kCancelled, "loading was cancelled"}; }

// Before the next look at what another process does; false where `progress` says to wait no longer.
bool Pause(const std::function<bool(float)>& progress) {
  if (progress && !progress(0.0f)) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return true;
}

struct Opened {
  int fd = -1;
  int refused = 0;  // Why not for writing: then it is for reading, or not open.
  bool vanished = false;
};

// Another user's, who writes it or died, opens for reading only: it can be waited for, and then be removed.
Opened OpenPart(const std::string& part) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Opened opened;
  opened.fd = open(part.c_str(), O_RDWR | O_CREAT | kFlags, 0644);
  if (opened.fd >= 0) return opened;
  opened.refused = errno;
  if (opened.refused != EACCES) return opened;
  opened.fd = open(part.c_str(), O_RDONLY | kFlags);
  opened.vanished = opened.fd < 0 && errno == ENOENT;
  return opened;
}

Status WaitForLock(int fd, const std::string& part, const std::function<bool(float)>& progress) {
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error != EWOULDBLOCK && error != EINTR) return SystemError("cannot lock the prepared weights", part, error);
    if (!Pause(progress)) return Cancelled();
  }
  return {};
}

enum class Named { kHere, kElsewhere, kNoFile };

// Whether `path` is still the name of what is open, which the process that had the lock may have published or removed.
Named NameOf(int fd, const std::string& path) {
  struct stat mine {
  }, named{};
  if (fstat(fd, &mine) != 0 || !S_ISREG(mine.st_mode)) return Named::kNoFile;
  const bool same = stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
  return same ? Named::kHere : Named::kElsewhere;
}

}  // namespace

size_t PreparedPieces(uint64_t data_bytes) { return static_cast<size_t>((data_bytes + kPieceBytes - 1) / kPieceBytes); }

uint64_t PreparedDataBegin(uint64_t data_bytes) {
  constexpr uint64_t kPage = 4096;
  return (sizeof(PreparedHeader) + 8 * PreparedPieces(data_bytes) + kPage - 1) / kPage * kPage;
}

uint64_t PreparedHash(std::span<const uint8_t> data, size_t piece) {
  const size_t begin = piece * kPieceBytes, bytes = std::min(kPieceBytes, data.size() - begin);
  // Four at once: one alone waits for its own multiplications.
  Hash64 hashes[4];
  const size_t quarter = bytes / 32 * 8;
  const uint8_t* from = data.data() + begin;
  for (size_t i = 0; i < quarter; i += 8) {
    for (size_t h = 0; h < 4; ++h) {
      uint64_t word;
      std::memcpy(&word, from + h * quarter + i, 8);
      hashes[h].Add(word);
    }
  }
  Hash64 all;
  for (const Hash64& hash : hashes) all.Add(hash.value());
  all.Add(from + 4 * quarter, bytes - 4 * quarter);
  return all.value();
}

uint64_t StoredPreparedHash(std::span<const uint8_t> file, size_t piece) {
  uint64_t hash;
  std::memcpy(&hash, file.data() + sizeof(PreparedHeader) + 8 * piece, 8);
  return hash;
}

PreparedHeader MakePreparedHeader(size_t row_group, uint64_t key, uint64_t data_bytes, std::span<const uint8_t> front) {
  PreparedHeader header{kMagic, kPreparedVersion, static_cast<uint32_t>(row_group), key, data_bytes, 0};
  Hash64 hash;
  hash.Add(&header, sizeof header);
  hash.Add(front.data() + sizeof header, 8 * PreparedPieces(data_bytes));
  header.checksum = hash.value();
  return header;
}

PreparedDraft::PreparedDraft(PreparedDraft&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

PreparedDraft::~PreparedDraft() {
  if (fd_ < 0) return;
  unlink(part().c_str());  // Before the lock goes: nobody can have it by this name then.
  close(fd_);
}

Result<PreparedDraft> PreparedDraft::Open(const std::string& path, const std::function<bool(float)>& progress) {
  PreparedDraft draft(path);
  const std::string part = draft.part();
  for (int vanished = 0;;) {
    const Opened opened = OpenPart(part);
    if (opened.fd < 0) {
      // It went between the two. A folder that cannot be written looks the same, but does so always.
      constexpr int kMost = 100;
      if (opened.vanished && Exists(path)) return PreparedDraft(path);
      if (opened.vanished && ++vanished < kMost) continue;
      return SystemError(kCannotWrite, part, opened.refused);
    }
    Status status = WaitForLock(opened.fd, part, progress);
    const Named named = status.ok() ? NameOf(opened.fd, part) : Named::kElsewhere;
    if (named == Named::kNoFile) status = SystemError(kCannotWrite, part, EEXIST);
    const bool published = status.ok() && Exists(path);
    if (named == Named::kHere && opened.refused == 0) {
      draft.fd_ = opened.fd;
      // Published while this process looked for it: what it opened goes.
      if (published) return PreparedDraft(path);
      if (ftruncate(opened.fd, 0) != 0) return SystemError(kCannotWrite, part, errno);
      return draft;
    }
    // Of another user that died: it goes, where the folder allows that, and this process makes its own.
    if (named == Named::kHere && !published && unlink(part.c_str()) != 0) {
      status = SystemError(kCannotWrite, part, opened.refused);
    }
    close(opened.fd);
    if (!status.ok()) return status;
    if (published) return PreparedDraft(path);
    if (named == Named::kElsewhere && !Pause(progress)) return Cancelled();
  }
}

Status PreparedDraft::WriteAt(uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return SystemError(kCannotWrite, part(), n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

// Not forced to the disk first: a file that a power failure cuts short fails its checksums and is made again.
Status PreparedDraft::Publish() {
  if (std::rename(part().c_str(), path_.c_str()) != 0) {
    return SystemError("cannot name the prepared weights", path_, errno);
  }
  close(std::exchange(fd_, -1));
  return {};
}

PreparedWriter::PreparedWriter(PreparedDraft& draft, uint64_t data_bytes)
    : draft_(draft), data_bytes_(data_bytes), data_begin_(PreparedDataBegin(data_bytes)), buffer_(kBufferBytes) {}

Status PreparedWriter::Flush() {
  if (Status status = draft_.WriteAt(flushed_, std::span(buffer_).first(used_)); !status.ok()) return status;
  flushed_ += used_;
  used_ = 0;
  return {};
}

Status PreparedWriter::Begin() { return PadTo(0); }

Status PreparedWriter::Append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), buffer_.size() - used_);
    std::memcpy(buffer_.data() + used_, bytes.data(), n);
    used_ += n;
    bytes = bytes.subspan(n);
    if (used_ < buffer_.size()) continue;
    if (Status status = Flush(); !status.ok()) return status;
  }
  return {};
}

Status PreparedWriter::PadTo(uint64_t data_bytes) {
  static constexpr std::array<uint8_t, 4096> kZeros{};
  while (flushed_ + used_ < data_begin_ + data_bytes) {
    const uint64_t missing = data_begin_ + data_bytes - flushed_ - used_;
    const auto n = static_cast<size_t>(std::min<uint64_t>(missing, kZeros.size()));
    if (Status status = Append(std::span(kZeros).first(n)); !status.ok()) return status;
  }
  return {};
}

Status PreparedWriter::Finish(size_t row_group, uint64_t key) {
  if (Status status = Flush(); !status.ok()) return status;
  Result<MappedFile> written = MappedFile::Open(draft_.part(), FileAccess::kMap);
  if (!written.ok()) return written.status();
  const std::span<const uint8_t> data = written->bytes().subspan(data_begin_);
  std::vector<uint8_t> front(static_cast<size_t>(data_begin_));
  for (size_t piece = 0; piece < PreparedPieces(data_bytes_); ++piece) {
    const uint64_t hash = PreparedHash(data, piece);
    std::memcpy(front.data() + sizeof(PreparedHeader) + 8 * piece, &hash, 8);
  }
  const PreparedHeader header = MakePreparedHeader(row_group, key, data_bytes_, front);
  std::memcpy(front.data(), &header, sizeof header);
  if (Status status = draft_.WriteAt(0, front); !status.ok()) return status;
  return draft_.Publish();
}

}  // namespace prenorm
