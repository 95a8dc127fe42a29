// The JSON header of one safetensors file, checked.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Appends the tensors of a file, whose index among the shards is `file`. Names are copied to the end of `names`, whose
/// elements stay where they are. Integer and bool tensors (position ids, masks: no weights) go by name to `skipped`.
///
/// Errors  kBadModel for a damaged file, kUnsupported for floating-point types other than F32, F16 and BF16.
/// Source  the format's description in the safetensors repository.
Status ParseSafetensors(std::span<const uint8_t> bytes, const std::string& path, uint32_t file,
                        std::deque<std::string>& names, std::vector<TensorInfo>& tensors,
                        std::vector<std::string>& skipped);

}  // namespace prenorm
