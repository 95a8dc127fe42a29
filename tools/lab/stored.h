// Weights as a storage type keeps them.
#pragma once

#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"

namespace prenorm::tools {

/// The types that experiments on folding compare. The first, F32, rounds only where it folds.
inline constexpr DType kStoredTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0, DType::kQ6_K,
                                         DType::kQ5_1, DType::kQ4_1, DType::kQ4_0, DType::kQ4_K};

/// Rows of `cols` weights, written in `type` and read back.
inline std::vector<float> Stored(DType type, const std::vector<float>& weights, size_t cols) {
  std::vector<float> out(weights.size());
  std::vector<unsigned char> blocks(RowBytes(type, cols));
  for (size_t at = 0; at < weights.size(); at += cols) {
    QuantizeRow(type, weights.data() + at, cols, blocks.data());
    DequantizeRow(type, blocks.data(), cols, out.data() + at);
  }
  return out;
}

}  // namespace prenorm::tools
