// What the SIMD unit of the gradients shares with the public entries.
#pragma once

#include <cstddef>

#include "prenorm/norm_backward.h"

namespace prenorm {

// A range of rows. Sums over them are added to dgain and dbias ([cols] of f64, each may be null); run_sums is room for
// them in f32: [cols] for each that is wanted.
struct RowsBackward {
  const float* x;
  size_t x_stride;
  const float* dy;
  size_t dy_stride;
  const float* gain;
  float* dx;
  size_t dx_stride;
  double* dgain;
  double* dbias;
  float* run_sums;
  size_t rows;
  size_t cols;
  float eps;
  bool subtract_mean;  // LayerNorm; else RMSNorm.
};

struct ChannelsBackward {
  const float* x;
  size_t x_stride;
  const float* dy;
  size_t dy_stride;
  const float* gain;
  float* dx;
  size_t dx_stride;
  float* dgain;
  float* dbias;
  ChannelShape shape;
  float eps;
};

void RowsBackwardDispatch(const RowsBackward& call);
void ChannelsBackwardDispatch(const ChannelsBackward& call);

}  // namespace prenorm
