// Arguments of the products in f32: weights stored as F32, F16, BF16, or formats rare enough to be
// dequantized row by row.
#pragma once

#include <cstddef>

#include "prenorm/matmul.h"

namespace prenorm::matmul {

struct FloatProduct {
  WeightMatrix w;
  size_t row_begin, row_end;
  const float* x;  // [n, w.cols]
  size_t n;
  float* out;
  size_t out_stride;
  bool accumulate;
  void* scratch;  // MatMulScratchBytes, or null
};

inline constexpr size_t kMaxPanelRows = 64;  // four vectors of 16 lanes

void MatMulFloat(const FloatProduct& product);

/// The arguments of prenorm::MatMulPanel.
struct PanelProduct {
  const float* panel;
  size_t rows, cols;
  const float* x;
  size_t n;
  const float* bias;
  float* out;
  size_t out_stride;
  bool accumulate;
};

}  // namespace prenorm::matmul
