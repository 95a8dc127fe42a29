// The control loops, for every SIMD target.
#include "tools/norm_bench/control.h"

#include <algorithm>
#include <cstring>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/norm_bench/control.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/cache_control.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm::tools {
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
  // The second loop needs the result of the first, as a norm does. A zero that the compiler knew would
  // end the first loop.
  static volatile float no_bits = 0.0f;
  const auto zero = hn::And(hn::Or(any0, any1), hn::Set(df, no_bits));
  for (size_t i = 0; i + 2 * N <= cols; i += 2 * N) {
    hn::StoreU(hn::Or(hn::Xor(hn::LoadU(df, x + i), hn::LoadU(df, gain + i)), zero), df, out + i);
    hn::StoreU(hn::Or(hn::Xor(hn::LoadU(df, x + i + N), hn::LoadU(df, gain + i + N)), zero), df, out + i + N);
  }
}

void ControlCopyLoop(const float* x, float* out, size_t cols, bool streamed) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  if (streamed) {
    for (; i + 2 * N <= cols; i += 2 * N) {
      hn::Stream(hn::LoadU(df, x + i), df, out + i);
      hn::Stream(hn::LoadU(df, x + i + N), df, out + i + N);
    }
    hwy::FlushStream();
  } else {
    for (; i + 2 * N <= cols; i += 2 * N) {
      hn::StoreU(hn::LoadU(df, x + i), df, out + i);
      hn::StoreU(hn::LoadU(df, x + i + N), df, out + i + N);
    }
  }
  std::memcpy(out + i, x + i, (cols - i) * sizeof(float));
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm::tools {

HWY_EXPORT(ControlNormLoop);
HWY_EXPORT(ControlCopyLoop);

void ControlNormRow(const float* x, const float* gain, float* out, size_t cols) {
  HWY_DYNAMIC_DISPATCH(ControlNormLoop)(x, gain, out, cols);
}

void ControlCopy(const void* from, void* to, size_t bytes, size_t threads, bool streamed) {
  const float* x = static_cast<const float*>(from);
  float* out = static_cast<float*>(to);
  const size_t words = bytes / sizeof(float);
  if (threads <= 1) return HWY_DYNAMIC_DISPATCH(ControlCopyLoop)(x, out, words, streamed);
  const size_t part = (words / threads + 1023) / 1024 * 1024;
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static, 1)
  for (size_t t = 0; t < threads; ++t) {
    const size_t begin = std::min(words, t * part);
    HWY_DYNAMIC_DISPATCH(ControlCopyLoop)(x + begin, out + begin, std::min(part, words - begin), streamed);
  }
}

}  // namespace prenorm::tools
#endif  // HWY_ONCE
