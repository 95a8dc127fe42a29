// The bytes of one file: mapped, or read into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "prenorm/status.h"

namespace prenorm {

/// How a model file comes into memory.
enum class FileAccess {
  kMap,         ///< Read-only mapping, shared with other processes. Reading behind the end of a file that was truncated
                ///< raises SIGBUS: whoever cannot rule that out takes kRead.
  kMapPrivate,  ///< Copy-on-write mapping: pages may be changed in memory, the file never is. Truncation as above.
  kRead,        ///< A copy in memory, unaffected by what happens to the file afterwards; may be changed.
};

/// Owns the memory of one file, or refers to memory of the caller. Movable; the bytes stay where they are.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// Refuses folders, devices and pipes by name (kBadModel); an empty regular file is fine and has no bytes.
  static Result<MappedFile> Open(const std::string& path, FileAccess access);

  /// Refers to `bytes`, which must outlive this object and every move of it.
  static MappedFile Borrow(std::span<const uint8_t> bytes);

  /// Copies `bytes` to pages of its own, as kRead does with a file. `name` is for messages. Errors: kOutOfMemory.
  static Result<MappedFile> Copy(std::span<const uint8_t> bytes, const std::string& name);

  std::span<const uint8_t> bytes() const { return {data_, size_}; }

  /// The same bytes where they may be changed, else null.
  uint8_t* writable() const { return writable_ ? data_ : nullptr; }

  /// When the file was last changed, as it was opened: nanoseconds since 1970. 0 for memory of the caller.
  int64_t modified_ns() const { return modified_ns_; }

  /// kMap: asks for large pages, before the first access. The kernel grants them where the file system has large folios
  /// (ext4 since Linux 6.16, xfs, tmpfs with huge=).
  void PreferLargePages();

  /// kMap: has the kernel gather what it already holds of the file in large pages, for this and all other processes, as
  /// far as it can (since Linux 6.1 on tmpfs, elsewhere with CONFIG_READ_ONLY_THP_FOR_FS).
  void CollectLargePages() const;

  /// kMap, kMapPrivate: takes the whole pages of [begin, end), which nobody has changed, out of this process's memory;
  /// the next access reads them from the file again.
  void Release(size_t begin, size_t end) const;

  /// Opened with FileAccess::kMapPrivate.
  bool is_private_mapping() const { return private_; }

  /// kMap, kMapPrivate: kBadModel where the file has another size than when it was opened, or was written to since, so
  /// that what is mapped of it may be another file's. Always fine for memory and for what was read. One system call.
  Status CheckUnchanged() const;

  /// kMapPrivate: gives the whole pages of [begin, end) memory of this process in place of the file's, in large pages,
  /// at the same address. Their bytes are undefined until Fill has read them. Copying page by page on the first write
  /// costs more than twice as much, and would count the file's pages as resident too.
  Status Detach(size_t begin, size_t end);

  /// Reads [begin, end) from the file again. Different ranges may be read at the same time.
  Status Fill(size_t begin, size_t end);

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  bool owned_ = false;
  bool writable_ = false;
  bool private_ = false;
  int64_t modified_ns_ = 0;
  int fd_ = -1;  // Open while the file is mapped.
  std::string path_;
};

}  // namespace prenorm
