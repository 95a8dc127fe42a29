// A fast hash of 64 bits that finds damage and tells things apart. Not for secrets: collisions can be made on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace prenorm {

/// A word at a time: each step is a bijection of the state, so one changed word always changes the result.
class Hash64 {
 public:
  void Add(uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 32;
  }
  void Add(const void* data, size_t bytes) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (; bytes >= 8; bytes -= 8, p += 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      Add(word);
    }
    uint64_t rest = 0;
    if (bytes != 0) std::memcpy(&rest, p, bytes);  // memcpy takes no null, not even for nothing.
    Add(rest ^ static_cast<uint64_t>(bytes) << 56);
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    Add(static_cast<uint64_t>(values.size()));
    Add(values.data(), values.size() * sizeof(T));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x243F6A8885A308D3u;
};

}  // namespace prenorm
