// What the units of RMSNorm (one per pair of types of x and out) share with the public entry.
#pragma once

#include <cstddef>
#include <type_traits>

#include "prenorm/norm.h"

namespace prenorm {

// At most one of the gains is not null.
template <typename X, typename Out>
struct RmsNormCall {
  const X* x;
  size_t x_stride;
  const float* gain_f32;
  const bf16* gain_bf16;
  Out* out;
  size_t out_stride;
  size_t rows;
  size_t cols;
  const RmsNormOptions* options;
};

template <typename X, typename Gain, typename Out>
RmsNormCall<X, Out> MakeRmsNormCall(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride,
                                    size_t rows, size_t cols, const RmsNormOptions& options) {
  RmsNormCall<X, Out> call{x, x_stride, nullptr, nullptr, out, out_stride, rows, cols, &options};
  if constexpr (std::is_same_v<Gain, float>) {
    call.gain_f32 = gain;
  } else {
    call.gain_bf16 = gain;
  }
  return call;
}

#define PRENORM_NORM_UNIT(NAME, X, OUT) void RmsNormDispatch(const RmsNormCall<X, OUT>& call);
#include "kernels/variants.inc"

}  // namespace prenorm
