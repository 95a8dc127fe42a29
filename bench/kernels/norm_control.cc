// Loops that load and store as the norms do and compute next to nothing.
#include "bench/kernels/norm_control.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/kernels/norm_control.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void ControlNormLoop(const float* x, const float* gain, float* out, size_t cols) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  auto any0 = hn::Zero(df);
  auto any1 = hn::Zero(df);
  for (size_t i = 0; i + 2 * N <= cols; i += 2 * N) {
    any0 = hn::Or(any0, hn::LoadU(df, x + i));
    any1 = hn::Or(any1, hn::LoadU(df, x + i + N));
  }
  // The second loop needs the result of the first, as a norm does.
  const auto zero = hn::And(hn::Or(any0, any1), hn::Zero(df));
  for (size_t i = 0; i + 2 * N <= cols; i += 2 * N) {
    hn::StoreU(hn::Or(hn::Xor(hn::LoadU(df, x + i), hn::LoadU(df, gain + i)), zero), df, out + i);
    hn::StoreU(hn::Or(hn::Xor(hn::LoadU(df, x + i + N), hn::LoadU(df, gain + i + N)), zero), df, out + i + N);
  }
}

void ControlCopyLoop(const float* x, float* out, size_t cols) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  for (size_t i = 0; i + 2 * N <= cols; i += 2 * N) {
    hn::StoreU(hn::LoadU(df, x + i), df, out + i);
    hn::StoreU(hn::LoadU(df, x + i + N), df, out + i + N);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ControlNormLoop);
HWY_EXPORT(ControlCopyLoop);

void ControlNormRow(const float* x, const float* gain, float* out, size_t cols) {
  HWY_DYNAMIC_DISPATCH(ControlNormLoop)(x, gain, out, cols);
}
void ControlCopyRow(const float* x, float* out, size_t cols) { HWY_DYNAMIC_DISPATCH(ControlCopyLoop)(x, out, cols); }

}  // namespace prenorm
#endif  // HWY_ONCE
