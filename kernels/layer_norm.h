// What the units of LayerNorm (one per pair of types of x and out) share with the public entry.
#pragma once

#include <cstddef>
#include <type_traits>

#include "prenorm/norm.h"

namespace prenorm {

// Gain and bias have the same type; those of the other type are null.
template <typename X, typename Out>
struct LayerNormCall {
  const X* x;
  size_t x_stride;
  const float* gain_f32;
  const float* bias_f32;
  const bf16* gain_bf16;
  const bf16* bias_bf16;
  Out* out;
  size_t out_stride;
  size_t rows;
  size_t cols;
  const LayerNormOptions* options;
};

template <typename X, typename Affine, typename Out>
LayerNormCall<X, Out> MakeLayerNormCall(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out,
                                        size_t out_stride, size_t rows, size_t cols, const LayerNormOptions& options) {
  LayerNormCall<X, Out> call{x, x_stride, nullptr, nullptr, nullptr, nullptr, out, out_stride, rows, cols, &options};
  if constexpr (std::is_same_v<Affine, float>) {
    call.gain_f32 = gain;
    call.bias_f32 = bias;
  } else {
    call.gain_bf16 = gain;
    call.bias_bf16 = bias;
  }
  return call;
}

#define PRENORM_NORM_UNIT(NAME, X, OUT) void LayerNormDispatch(const LayerNormCall<X, OUT>& call);
#include "kernels/variants.inc"

}  // namespace prenorm
