// From the bytes of a safetensors file to its tensors and the ends of their data.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/loader/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm;
  const std::vector<uint8_t> bytes(data, data + size);  // Of exactly this size.
  std::deque<std::string> names;
  std::vector<TensorInfo> tensors;
  std::vector<std::string> skipped;
  if (!ParseSafetensors(bytes, "input", 0, names, tensors, skipped).ok()) return 0;
  volatile uint8_t sink = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.bytes != 0) sink = sink ^ tensor.data[0] ^ tensor.data[tensor.bytes - 1];
  }
  return 0;
}
