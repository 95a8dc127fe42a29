// Opens a model in whatever form it has.
#pragma once

#include <memory>
#include <string>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// A GGUF file, or a folder as Hugging Face lays models out. Errors as of the two readers.
Result<std::unique_ptr<TensorSource>> OpenModelFile(const std::string& path, FileAccess access);

}  // namespace prenorm
