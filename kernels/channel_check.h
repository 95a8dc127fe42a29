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

}  // namespace prenorm
