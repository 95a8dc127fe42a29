// Anonymous mappings: the kernel refuses at once what cannot fit, and zeroes pages as they are touched.
#include "runtime/parallel/buffer.h"

#include <sys/mman.h>

#include <string>
#include <utility>

namespace prenorm {

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Result<Buffer> Buffer::Allocate(size_t bytes, const char* what) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Status(StatusCode::kOutOfMemory,
                  "cannot allocate " + std::to_string(bytes) + " bytes for the " + std::string(what));
  }
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace prenorm
