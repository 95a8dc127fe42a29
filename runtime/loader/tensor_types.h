// Names of the tensor types that GGUF files may hold and Prenorm does not read.
#pragma once

#include <cstdint>
#include <string>

namespace prenorm {

/// "IQ2_XXS (type id 16)"; "type id 9999" for an id that no version of the format knows.
std::string ForeignTensorTypeName(uint32_t id);

}  // namespace prenorm
