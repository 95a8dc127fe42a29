// The recipes, with the layer choice and the stand-ins that llama.cpp's recipes of the same names have.
#include "runtime/quantize_recipe.h"

#include <algorithm>
#include <charconv>

#include "prenorm/quantize.h"
#include "runtime/inspect_norms.h"

namespace prenorm {
namespace {

constexpr QuantizeRecipe kRecipes[] = {
    {"F32", DType::kF32, false, 0},     {"F16", DType::kF16, false, 1},    {"BF16", DType::kBF16, false, 32},
    {"Q8_0", DType::kQ8_0, false, 7},   {"Q4_0", DType::kQ4_0, false, 2},  {"Q4_1", DType::kQ4_1, false, 3},
    {"Q5_0", DType::kQ5_0, false, 8},   {"Q5_1", DType::kQ5_1, false, 9},  {"Q4_K", DType::kQ4_K, false, 14},
    {"Q5_K", DType::kQ5_K, false, 16},  {"Q6_K", DType::kQ6_K, false, 18}, {"Q4_K_M", DType::kQ4_K, true, 15},
    {"Q5_K_M", DType::kQ5_K, true, 17},
};

// The first and the last eighth of the layers, and every third between them.
bool TakesMoreBits(size_t layer, size_t n_layers) {
  const size_t eighth = n_layers / 8;
  return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

DType StandIn(DType type, size_t cols) {
  if (cols % InfoOf(type).block_elems == 0) return type;
  const DType smaller = type == DType::kQ4_K ? DType::kQ5_0 : type == DType::kQ5_K ? DType::kQ5_1 : DType::kQ8_0;
  return cols % InfoOf(smaller).block_elems == 0 ? smaller : DType::kF16;
}

}  // namespace

const QuantizeRecipe* FindQuantizeRecipe(std::string_view name) {
  const auto found = std::find_if(std::begin(kRecipes), std::end(kRecipes),
                                  [&](const QuantizeRecipe& recipe) { return recipe.name == name; });
  return found == std::end(kRecipes) ? nullptr : found;
}

std::vector<std::string> QuantizeRecipes() {
  std::vector<std::string> names;
  for (const QuantizeRecipe& recipe : kRecipes) names.emplace_back(recipe.name);
  return names;
}

TypeChoice ChooseType(const QuantizeRecipe& recipe, const TensorInfo& tensor, size_t n_layers, bool tied) {
  const std::string_view name = tensor.name;
  const bool is_matrix = tensor.n_dims >= 2 && name.ends_with(".weight") && !IsNormTensor(tensor);
  // The router of a mixture of experts is small and decides much; the position table is looked up, not multiplied.
  if (!is_matrix || name.find("ffn_gate_inp") != name.npos || name.starts_with("position_embd")) {
    return {tensor.dtype, tensor.dtype};
  }
  DType wanted = recipe.base;
  if (recipe.mixed) {
    const bool is_output = name == "output.weight" || (tied && name == "token_embd.weight");
    size_t layer = 0;
    const bool in_layer = name.starts_with("blk.") &&
                          std::from_chars(name.data() + 4, name.data() + name.size(), layer).ec == std::errc();
    const bool sensitive = name.ends_with(".attn_v.weight") || name.find(".ffn_down") != name.npos;
    if (is_output || (in_layer && sensitive && TakesMoreBits(layer, n_layers))) wanted = DType::kQ6_K;
  }
  return {StandIn(wanted, tensor.cols()), wanted};
}

}  // namespace prenorm
