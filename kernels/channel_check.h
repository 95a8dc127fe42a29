// Checks that the checked entries of GroupNorm, BatchNorm and its gradient share.
#pragma once

#include <string>

#include "kernels/norm_check.h"
#include "prenorm/norm_channels.h"

namespace prenorm {

inline Status Refusal(const char* op, const std::string& what) {
  return {StatusCode::kInvalidArgument, std::string(op) + ": " + what};
}

// A feature map as rows in memory: one per sample, or one per pixel where channels come last.
struct MapExtents {
  size_t rows = 0;
  size_t cols = 0;
};

inline Status CheckShape(const char* op, const ChannelShape& shape, MapExtents* extents) {
  const bool first = shape.order == ChannelOrder::kChannelsFirst;
  if (shape.channels == 0) return Refusal(op, "channels is 0, expected at least 1");
  if (shape.space == 0) return Refusal(op, "space is 0, expected at least 1");
  *extents = {shape.samples, shape.channels};
  size_t values;
  if (__builtin_mul_overflow(first ? extents->cols : extents->rows, shape.space,
                             first ? &extents->cols : &extents->rows) ||
      __builtin_mul_overflow(shape.samples, shape.space, &values)) {
    return Refusal(op, "size of " + std::to_string(shape.samples) + " samples of " + std::to_string(shape.channels) +
                           " channels of " + std::to_string(shape.space) + " elements overflows");
  }
  return {};
}

inline Status CheckEnoughValues(const char* op, const ChannelShape& shape) {
  if (shape.samples * shape.space != 1) return {};
  return Refusal(op,
                 "1 value per channel (1 sample, space 1) has no variance, expected at least 2; use BatchNormEval, "
                 "or a larger batch");
}

// A feature map in and out.
template <typename X>
Status CheckMap(const char* op, const X* x, size_t x_stride, const X* out, size_t out_stride, const ChannelShape& shape,
                float eps) {
  MapExtents extents;
  Status status = CheckShape(op, shape, &extents);
  if (!status.ok()) return status;
  const auto [rows, cols] = extents;
  const RowBlock x_block = Block("x", x, x_stride, rows, cols);
  const RowBlock out_block = Block("out", out, out_stride, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(out_block).Disjoint(x_block, out_block, true);
  return check.status();
}

inline Status CheckGroups(const char* op, size_t groups, size_t channels) {
  if (groups != 0 && channels % groups == 0) return {};
  return Refusal(op, std::to_string(groups) + " groups do not divide " + std::to_string(channels) +
                         " channels; give a divisor of the number of channels");
}

inline Status CheckRunning(const char* op, const float* running_mean, const float* running_variance, float momentum) {
  if (!(momentum >= 0.0f && momentum <= 1.0f)) {
    return Refusal(op,
                   "momentum is " + std::to_string(momentum) + ", expected the weight of the new batch, from 0 to 1");
  }
  if ((running_mean == nullptr) == (running_variance == nullptr)) return {};
  return Refusal(op, std::string(running_mean == nullptr ? "running_mean" : "running_variance") +
                         " is null; give both running statistics or neither");
}

// A variance or mean square per channel, called `name`.
inline Status CheckGivenStatistic(const char* op, const char* name, const float* values, const ChannelShape& shape) {
  if (shape.samples == 0) return {};
  if (values == nullptr) {
    return Refusal(op, std::string(name) + " is null, expected " + std::to_string(shape.channels) + " elements");
  }
  for (size_t c = 0; c < shape.channels; ++c) {
    if (values[c] >= 0.0f) continue;
    return Refusal(op, std::string(name) + " of channel " + std::to_string(c) + " is " + std::to_string(values[c]) +
                           ", expected a number >= 0");
  }
  return {};
}

// Operands of a gradient.
struct Strides {
  size_t x;
  size_t dy;
  size_t dx;
};

inline Status CheckBackward(const char* op, const float* x, const float* dy, const float* dx, const Strides& strides,
                            const MapExtents& extents, float eps) {
  const auto [rows, cols] = extents;
  const RowBlock x_block = Block("x", x, strides.x, rows, cols);
  const RowBlock dy_block = Block("dy", dy, strides.dy, rows, cols);
  const RowBlock dx_block = Block("dx", dx, strides.dx, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(dy_block).Rows(dx_block);
  check.Disjoint(x_block, dx_block, true).Disjoint(dy_block, dx_block, true);
  return check.status();
}

}  // namespace prenorm
