// What the SIMD unit of the compositions shares with the public entries.
#pragma once

#include <cstddef>

#include "prenorm/norm_forms.h"

namespace prenorm {

template <typename X>
struct FormRows {
  const X* x;
  size_t x_stride;
  X* out;
  size_t out_stride;
  size_t rows;
  size_t cols;
};

template <typename X>
struct SandwichCall {
  FormRows<X> f;
  const X* x;
  size_t x_stride;
  const float* gain;
  const float* bias;
};

struct AdaptiveAffine {
  const float* gain;
  const float* bias;
  size_t rows_per_condition;
  GainForm gain_form;
};

}  // namespace prenorm
