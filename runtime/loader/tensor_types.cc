// Ids as in the GGUF specification.
#include "runtime/loader/tensor_types.h"

#include <utility>

namespace prenorm {

std::string ForeignTensorTypeName(uint32_t id) {
  constexpr std::pair<uint32_t, const char*> kNames[] = {
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {19, "IQ1_S"}, {22, "IQ2_S"},
      {24, "I8"},    {25, "I16"},   {26, "I32"},     {27, "I64"},    {28, "F64"},   {29, "IQ1_M"},
      {34, "TQ1_0"}, {35, "TQ2_0"}, {40, "NVFP4"},   {41, "Q1_0"},
  };
  const std::string number = "type id " + std::to_string(id);
  for (const auto& [known, name] : kNames) {
    if (known == id) return std::string(name) + " (" + number + ")";
  }
  return number;
}

}  // namespace prenorm
