// Softmax and log-sum-exp of rows: dispatch and public entry.
#include <cstddef>

#include "kernels/norm_check.h"
#include "prenorm/norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/softmax-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void SoftmaxRows(float* x, size_t stride, size_t rows, size_t cols) {
  for (size_t row = 0; row < rows; ++row) SoftmaxRow(x + row * stride, cols);
}

void LogSumExpRows(const float* x, size_t stride, float* out, size_t rows, size_t cols) {
  for (size_t row = 0; row < rows; ++row) out[row] = LogSumExpRow(x + row * stride, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(SoftmaxRows);
HWY_EXPORT(LogSumExpRows);

void Softmax(float* x, size_t stride, size_t rows, size_t cols) {
  HWY_DASSERT(CheckSoftmax(x, stride, rows, cols).ok());
  HWY_DYNAMIC_DISPATCH(SoftmaxRows)(x, stride, rows, cols);
}

void LogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols) {
  HWY_DASSERT(CheckOnePerRow("LogSumExp", x, stride, out, "out", rows, cols, 0.0f).ok());
  HWY_DYNAMIC_DISPATCH(LogSumExpRows)(x, stride, out, rows, cols);
}

}  // namespace prenorm
#endif  // HWY_ONCE
