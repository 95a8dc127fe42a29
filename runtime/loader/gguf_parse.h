// One GGUF file from its bytes to checked metadata and tensor descriptions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

struct ParsedGguf {
  uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // `file` is left at 0
};

/// Views in the result refer to `bytes`. `path` serves messages only. Names are not checked for being unique here,
/// because that concerns all shards together.
Result<ParsedGguf> ParseGguf(std::span<const uint8_t> bytes, const std::string& path);

}  // namespace prenorm
