// Zeroed memory of the engine's own, 64-byte aligned, that costs nothing until it is touched.
#pragma once

#include <cstddef>

#include "prenorm/status.h"

namespace prenorm {

/// Owns an anonymous mapping. Pages become resident when they are first written.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// Errors: kOutOfMemory naming `what` and the bytes asked for. 0 bytes give an empty buffer.
  static Result<Buffer> Allocate(size_t bytes, const char* what);

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace prenorm
