// What the units of residual + norm share with the public entries.
#pragma once

#include <cstddef>

#include "kernels/layer_norm.h"
#include "kernels/rms_norm.h"

namespace prenorm {

// norm.x is the sum: written by the first visit of a row, read by the sweep.
template <class Norm, typename X>
struct ResidualCall {
  const X* x;
  size_t x_stride;
  const X* f;
  size_t f_stride;
  X* sum;
  const Residual* residual;
  Norm norm;
};
template <typename X, typename Out>
using ResidualRmsCall = ResidualCall<RmsNormCall<X, Out>, X>;
template <typename X, typename Out>
using ResidualLayerCall = ResidualCall<LayerNormCall<X, Out>, X>;

#define PRENORM_RESIDUAL_UNIT(NAME, X, OUT)                          \
  void ResidualRmsNormDispatch(const ResidualRmsCall<X, OUT>& call); \
  void ResidualLayerNormDispatch(const ResidualLayerCall<X, OUT>& call);
#include "kernels/variants.inc"

}  // namespace prenorm
