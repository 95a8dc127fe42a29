// Products of F32, F16, BF16 and dequantized matrices on every target.
#include "kernels/matmul_float.h"

#include <algorithm>

#include "prenorm/matmul_panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductFloat(const matmul::FloatProduct& product) {
  switch (product.w.type) {
    case DType::kF32:
      return MatMulPlain<float>(product);
    case DType::kF16:
      return MatMulPlain<f16>(product);
    case DType::kBF16:
      return MatMulPlain<bf16>(product);
    default:
      return MatMulDequantized(product);
  }
}

void ProductPanel(const matmul::PanelProduct& product) { MultiplyPacked(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductFloat);
HWY_EXPORT(ProductPanel);

void matmul::MatMulFloat(const FloatProduct& product) { HWY_DYNAMIC_DISPATCH(ProductFloat)(product); }

void PackPanels(const WeightMatrix& w, size_t begin, size_t end, float* rows, float* panels) {
  const size_t together = PanelRowFloats(1);  // Rows whose transposition fills a cache line.
  for (size_t row = begin * kPanelRows; row < end * kPanelRows; row += together) {
    const size_t count = row < w.rows ? std::min(together, w.rows - row) : 0;
    for (size_t r = 0; r < count; ++r) DequantizeWeightRow(w, row + r, rows + r * w.cols);
    std::fill(rows + count * w.cols, rows + together * w.cols, 0.0f);
    float* to = panels + row / kPanelRows * kPanelRows * w.cols + row % kPanelRows;
    for (size_t c = 0; c < w.cols; ++c, to += kPanelRows) {
      for (size_t r = 0; r < together; ++r) to[r] = rows[r * w.cols + c];
    }
  }
}

void MatMulPanel(const float* panel, size_t rows, size_t cols, const float* x, size_t n, const float* bias, float* out,
                 size_t out_stride, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(ProductPanel)({panel, rows, cols, x, n, bias, out, out_stride, accumulate});
}

}  // namespace prenorm
#endif  // HWY_ONCE
