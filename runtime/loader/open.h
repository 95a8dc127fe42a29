// Opens a model in whatever form it has.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// A GGUF file, or a folder as Hugging Face lays models out. Errors as of the two readers.
Result<std::unique_ptr<TensorSource>> OpenModelFile(const std::string& path, FileAccess access);

/// A copy of the bytes of a GGUF file. Errors as of GgufFile::FromMemory; kOutOfMemory.
Result<std::unique_ptr<TensorSource>> OpenModelBytes(std::span<const uint8_t> bytes);

}  // namespace prenorm
