// Bounds-checked reading of little-endian values from memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace prenorm {

static_assert(std::endian::native == std::endian::little, "model files are read in place, as little-endian values");

/// Each call either succeeds and advances, or returns false and leaves the position where it was.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  bool Read(T& value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  bool Skip(uint64_t n) {
    if (n > remaining()) return false;
    position_ += static_cast<size_t>(n);
    return true;
  }

  /// A u64 length, then that many bytes.
  bool ReadString(std::string_view& value) {
    const size_t start = position_;
    uint64_t length;
    if (Read(length) && length <= remaining()) {
      value = {reinterpret_cast<const char*>(here()), static_cast<size_t>(length)};
      position_ += static_cast<size_t>(length);
      return true;
    }
    position_ = start;
    return false;
  }

  size_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }
  const uint8_t* here() const { return bytes_.data() + position_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
};

}  // namespace prenorm
