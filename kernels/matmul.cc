// The public products: picks the kernel of the weight type, interleaves rows and reads single rows back.
#include "prenorm/matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/matmul_float.h"
#include "kernels/matmul_int8.h"
#include "kernels/matmul_layout.h"
#include "prenorm/dequantize.h"
#include "prenorm/matmul_panels.h"

namespace prenorm {
namespace {

using Int8Kernel = void (*)(const matmul::Int8Product&);

// Null for the types that are multiplied as f32.
Int8Kernel KernelOf(DType type) {
  switch (type) {
    case DType::kQ4_0:
      return matmul::MatMulQ4_0;
    case DType::kQ4_1:
      return matmul::MatMulQ4_1;
    case DType::kQ5_0:
      return matmul::MatMulQ5_0;
    case DType::kQ5_1:
      return matmul::MatMulQ5_1;
    case DType::kQ8_0:
      return matmul::MatMulQ8_0;
    case DType::kQ2_K:
      return matmul::MatMulQ2_K;
    case DType::kQ3_K:
      return matmul::MatMulQ3_K;
    case DType::kQ4_K:
      return matmul::MatMulQ4_K;
    case DType::kQ5_K:
      return matmul::MatMulQ5_K;
    case DType::kQ6_K:
      return matmul::MatMulQ6_K;
    case DType::kIQ4_NL:
      return matmul::MatMulIQ4_NL;
    case DType::kIQ4_XS:
      return matmul::MatMulIQ4_XS;
    case DType::kMXFP4:
      return matmul::MatMulMXFP4;
    default:
      return nullptr;
  }
}

}  // namespace

bool CanInterleave(DType type) { return KernelOf(type) != nullptr; }

ActivationFormat ActivationFormatOf(DType weight_type) {
  return CanInterleave(weight_type) ? ActivationFormat::kInt8 : ActivationFormat::kF32;
}

void InterleaveRows(DType type, size_t cols, void* data, size_t group_begin, size_t group_end, void* scratch) {
  if (!CanInterleave(type)) return;
  const size_t group = RowGroup();
  const size_t row_bytes = RowBytes(type, cols);
  for (size_t g = group_begin; g < group_end; ++g) {
    uint8_t* rows = static_cast<uint8_t*>(data) + g * group * row_bytes;
    std::memcpy(scratch, rows, group * row_bytes);
    matmul::InterleaveBlocks(type, static_cast<const uint8_t*>(scratch), row_bytes, group,
                             cols / InfoOf(type).block_elems, group, rows);
  }
}

size_t MatMulScratchBytes(size_t cols) {
  const size_t panel = cols * matmul::kMaxPanelRows, rows = 16 * (cols + 16),
               sums = size_t{16} * 6 * matmul::kMaxPanelRows;
  // Quantized: 32 codes and at most 4 scales for 32 columns of a row.
  static_assert(matmul::kMaxExpandedRows * (32 + 4 * sizeof(float)) <= 32 * matmul::kMaxPanelRows * sizeof(float));
  return (panel + rows + sums) * sizeof(float);
}

void MatMul(const WeightMatrix& w, size_t row_begin, size_t row_end, const void* pack, size_t n, float* out,
            size_t out_stride, bool accumulate, void* scratch) {
  if (const Int8Kernel kernel = KernelOf(w.type)) {
    kernel({w, row_begin, row_end, static_cast<const matmul::ActivationBlock*>(pack), n, out, out_stride, accumulate,
            scratch});
  } else {
    matmul::MatMulFloat(
        {w, row_begin, row_end, static_cast<const float*>(pack), n, out, out_stride, accumulate, scratch});
  }
}

void MatMul(const WeightMatrix& w, size_t row_begin, size_t row_end, const void* pack, size_t n, float* out,
            size_t out_stride, bool accumulate) {
  MatMul(w, row_begin, row_end, pack, n, out, out_stride, accumulate, /*scratch=*/nullptr);
}

void DequantizeWeightRow(const WeightMatrix& w, size_t row, float* out) {
  const size_t group = RowGroup();
  const size_t row_bytes = RowBytes(w.type, w.cols);
  const auto* data = static_cast<const uint8_t*>(w.data);
  if (!w.interleaved || !CanInterleave(w.type) || row >= w.rows / group * group) {
    DequantizeRow(w.type, data + row * row_bytes, w.cols, out);
    return;
  }
  const DTypeInfo info = InfoOf(w.type);
  const uint8_t* blocks = data + row / group * group * row_bytes;
  for (size_t c = 0; c < w.cols; c += info.block_elems, blocks += group * info.block_bytes) {
    uint8_t block[matmul::kMaxBlockBytes];
    matmul::ExtractBlock(w.type, blocks, row % group, group, block);
    DequantizeRow(w.type, block, info.block_elems, out + c);
  }
}

}  // namespace prenorm
