// The file of prepared weights as bytes: header, checksums, and how one process writes it while others wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

/// Also that of the interleaved layout: raise it when one of the two changes.
inline constexpr uint32_t kPreparedVersion = 1;

struct PreparedHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t row_group;   // Rows that are interleaved.
  uint64_t key;         // Of the model and the layout.
  uint64_t data_bytes;  // Behind this header and the hashes.
  uint64_t checksum;    // Of the header with 0 here, then of the hashes.
};
static_assert(sizeof(PreparedHeader) == 40);

/// Pieces of the data that have a hash of their own.
size_t PreparedPieces(uint64_t data_bytes);
/// Where the data begins.
uint64_t PreparedDataBegin(uint64_t data_bytes);
/// The hash of a piece of the data.
uint64_t PreparedHash(std::span<const uint8_t> data, size_t piece);
/// What the file says that it is. `file` has PreparedDataBegin bytes or more.
uint64_t StoredPreparedHash(std::span<const uint8_t> file, size_t piece);
/// The header that belongs in front of the hashes that `front`, the bytes before the data, has behind its own.
PreparedHeader MakePreparedHeader(size_t row_group, uint64_t key, uint64_t data_bytes, std::span<const uint8_t> front);

/// A file under way, PATH.part, locked by the process that writes it. Of processes that open one at once one gets it;
/// the others wait, and go on writing where that one gave up or died.
class PreparedDraft {
 public:
  /// `progress` is asked while it waits, with 0. Errors: kIo, kCancelled.
  static Result<PreparedDraft> Open(const std::string& path, const std::function<bool(float)>& progress);
  ~PreparedDraft();  ///< Removes what was not published.
  PreparedDraft(PreparedDraft&& other) noexcept;
  PreparedDraft& operator=(PreparedDraft&&) = delete;

  /// Another process has published it meanwhile: there is nothing to write.
  bool made_by_another() const { return fd_ < 0; }
  Status WriteAt(uint64_t offset, std::span<const uint8_t> bytes);
  Status Publish();
  std::string part() const { return path_ + ".part"; }

 private:
  explicit PreparedDraft(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int fd_ = -1;
};

/// Writes a draft from beginning to end, its header and hashes last.
class PreparedWriter {
 public:
  PreparedWriter(PreparedDraft& draft, uint64_t data_bytes);
  /// Leaves room for header and hashes. Before all else.
  Status Begin();
  Status Append(std::span<const uint8_t> bytes);
  /// Zero bytes until the data has `data_bytes` bytes.
  Status PadTo(uint64_t data_bytes);
  Status Finish(size_t row_group, uint64_t key);

 private:
  Status Flush();

  PreparedDraft& draft_;
  const uint64_t data_bytes_, data_begin_;
  std::vector<uint8_t> buffer_;
  size_t used_ = 0;       // Of the buffer.
  uint64_t flushed_ = 0;  // Bytes of the file.
};

}  // namespace prenorm
