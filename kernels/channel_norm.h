// What the SIMD unit of GroupNorm and BatchNorm shares with the public entries.
#pragma once

#include <cstddef>
#include <type_traits>

#include "prenorm/norm_channels.h"

namespace prenorm {

// A gain or bias per channel, in either type or missing.
struct ChannelVector {
  const float* f32 = nullptr;
  const bf16* narrow = nullptr;
  float missing = 0.0f;

  float operator[](size_t channel) const {
    if (f32 != nullptr) return f32[channel];
    return narrow != nullptr ? ToF32(narrow[channel]) : missing;
  }
};

template <typename Affine>
ChannelVector MakeChannelVector(const Affine* data, float missing) {
  ChannelVector vector;
  if constexpr (std::is_same_v<Affine, float>) {
    vector.f32 = data;
  } else {
    vector.narrow = data;
  }
  vector.missing = missing;
  return vector;
}

// Feature map in, feature map out. Adding -0 where there is no bias changes no bit.
template <typename X>
struct ChannelMap {
  const X* x;
  size_t x_stride;
  ChannelVector gain;
  ChannelVector bias;
  X* out;
  size_t out_stride;
  ChannelShape shape;
};

template <typename X, typename Affine>
ChannelMap<X> MakeChannelMap(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                             size_t out_stride, const ChannelShape& shape) {
  return {x, x_stride, MakeChannelVector(gain, 1.0f), MakeChannelVector(bias, -0.0f), out, out_stride, shape};
}

struct RunningStatistics {
  float* mean;
  float* variance;
};

void GroupNormDispatch(const ChannelMap<float>& map, size_t groups, const LayerNormOptions& options);
void GroupNormDispatch(const ChannelMap<bf16>& map, size_t groups, const LayerNormOptions& options);
void BatchNormTrainDispatch(const ChannelMap<float>& map, const RunningStatistics& running,
                            const BatchNormTrainOptions& options);
void BatchNormTrainDispatch(const ChannelMap<bf16>& map, const RunningStatistics& running,
                            const BatchNormTrainOptions& options);
void BatchNormEvalDispatch(const ChannelMap<float>& map, const float* mean, const float* variance, float eps);
void BatchNormEvalDispatch(const ChannelMap<bf16>& map, const float* mean, const float* variance, float eps);

}  // namespace prenorm
