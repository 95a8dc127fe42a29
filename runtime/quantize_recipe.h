// Which storage type each tensor gets under a recipe's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prenorm/types.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

struct QuantizeRecipe {
  std::string_view name;
  DType base;          ///< Of most matrices.
  bool mixed;          ///< Q6_K for the output matrix and for the value and down projections of half of the layers.
  uint32_t file_type;  ///< Value of general.file_type.
};

/// Null if there is no recipe of that name.
const QuantizeRecipe* FindQuantizeRecipe(std::string_view name);

/// What a tensor becomes, and what it would become if its rows were a multiple of 256.
struct TypeChoice {
  DType type;
  DType wanted;
};

/// `tied`: the embedding is the output matrix.
TypeChoice ChooseType(const QuantizeRecipe& recipe, const TensorInfo& tensor, size_t n_layers, bool tied);

}  // namespace prenorm
