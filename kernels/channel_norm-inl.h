// GroupNorm and BatchNorm of feature maps in either channel order: statistics of a group or channel, then one sweep.

#include "kernels/channel_norm.h"

#if defined(PRENORM_KERNELS_CHANNEL_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_CHANNEL_NORM_INL_H_
#undef PRENORM_KERNELS_CHANNEL_NORM_INL_H_
#else
#define PRENORM_KERNELS_CHANNEL_NORM_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/channel_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The factors of a panel of columns, one value per column.
struct PanelFactors {
  HWY_ALIGN float shift[kPanel];
  HWY_ALIGN float offset[kPanel];
  HWY_ALIGN float inv_stddev[kPanel];
  HWY_ALIGN float scale[kPanel];
  HWY_ALIGN float gain[kPanel];
  HWY_ALIGN float bias[kPanel];
  bool scaled = false;

  void Set(size_t col, const LayerFactors& factors, float col_gain, float col_bias) {
    shift[col] = factors.shift;
    offset[col] = factors.offset;
    inv_stddev[col] = factors.inv_stddev;
    scale[col] = factors.scale;
    gain[col] = col_gain;
    bias[col] = col_bias;
    scaled = scaled || factors.scale != 1.0f;
  }
};

// The same arithmetic as ApplyLayerColumns, with factors by column.
template <typename X>
HWY_NOINLINE void ApplyPanel(const X* x, size_t x_stride, X* out, size_t out_stride, size_t rows, size_t cols,
                             const PanelFactors& f) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  const auto apply = [&](V v, V shift, V offset, V inv_stddev, V gain, V bias)
                         HWY_ATTR { return hn::MulAdd(hn::MulAdd(hn::Sub(v, shift), inv_stddev, offset), gain, bias); };
  const auto apply_scaled = [&](V v, V scale, V shift, V offset, V inv_stddev, V gain, V bias)
                                HWY_ATTR { return apply(hn::Mul(v, scale), shift, offset, inv_stddev, gain, bias); };
  for (size_t row = 0; row < rows; ++row) {
    const X* x_row = x + row * x_stride;
    X* out_row = out + row * out_stride;
    if (HWY_UNLIKELY(f.scaled)) {
      MapRow(df, cols, out_row, apply_scaled, x_row, f.scale, f.shift, f.offset, f.inv_stddev, f.gain, f.bias);
    } else {
      MapRow(df, cols, out_row, apply, x_row, f.shift, f.offset, f.inv_stddev, f.gain, f.bias);
    }
  }
}

// One plane with its channel's factors, while what is `ahead` elements further on is fetched.
template <typename X>
HWY_NOINLINE void ApplyPlane(const ChannelMap<X>& map, size_t sample, size_t channel, const LayerFactors& factors,
                             size_t ahead) {
  const size_t offset = channel * map.shape.space;
  const X* x = map.x + sample * map.x_stride + offset;
  X* out = map.out + sample * map.out_stride + offset;
  const Broadcast gain{map.gain[channel]};
  const Broadcast bias{map.bias[channel]};
  if (HWY_UNLIKELY(factors.scale != 1.0f)) {
    ApplyLayerColumns<false>(Scaled<const X*>{x, factors.scale}, gain, bias, out, map.shape.space, factors);
  } else {
    ApplyLayerColumns<false>(Ahead<X>{x, ahead}, gain, bias, out, map.shape.space, factors);
  }
}

// Columns begin .. begin + cols of `rows` pixels from `row` on, with factors_of(col).
template <typename X, class FactorsOf>
HWY_INLINE void ApplyColumns(const ChannelMap<X>& map, size_t row, size_t rows, size_t begin, size_t cols,
                             const FactorsOf& factors_of) {
  for (size_t panel = begin; panel < begin + cols; panel += kPanel) {
    const size_t panel_cols = std::min(kPanel, begin + cols - panel);
    PanelFactors factors;
    for (size_t c = 0; c < panel_cols; ++c) {
      factors.Set(c, factors_of(panel + c), map.gain[panel + c], map.bias[panel + c]);
    }
    ApplyPanel(map.x + row * map.x_stride + panel, map.x_stride, map.out + row * map.out_stride + panel, map.out_stride,
               rows, panel_cols, factors);
  }
}

template <typename X>
HWY_INLINE void GroupNormPlanes(const ChannelMap<X>& map, size_t groups, const LayerNormOptions& options) {
  const size_t group_channels = map.shape.channels / groups;
  const size_t group_size = group_channels * map.shape.space;
  const LayerStatistics statistics(group_size, options);
  for (size_t sample = 0; sample < map.shape.samples; ++sample) {
    for (size_t group = 0; group < groups; ++group) {
      const X* x = map.x + sample * map.x_stride + group * group_size;
      const LayerFactors factors = statistics.Factors(x);
      for (size_t c = 0; c < group_channels; ++c) {
        ApplyPlane(map, sample, group * group_channels + c, factors, group_size);
      }
    }
  }
}

template <typename X>
HWY_INLINE void GroupNormPixels(const ChannelMap<X>& map, size_t groups, const LayerNormOptions& options) {
  const size_t rows = map.shape.space;
  const size_t group_channels = map.shape.channels / groups;
  const size_t panel_groups = std::max<size_t>(1, kPanel / group_channels);
  GroupStatistics statistics[kPanel];
  for (size_t sample = 0; sample < map.shape.samples; ++sample) {
    const size_t row = sample * rows;
    for (size_t group = 0; group < groups; group += panel_groups) {
      const size_t count = std::min(panel_groups, groups - group);
      const size_t begin = group * group_channels;
      ColumnGroupStatistics(map.x + row * map.x_stride + begin, map.x_stride, rows, count, group_channels,
                            static_cast<double>(options.eps), statistics);
      ApplyColumns(map, row, rows, begin, count * group_channels,
                   [&](size_t channel) { return statistics[(channel - begin) / group_channels].factors; });
    }
  }
}

template <typename X>
HWY_INLINE void GroupNormMap(const ChannelMap<X>& map, size_t groups, const LayerNormOptions& options) {
  if (map.shape.order == ChannelOrder::kChannelsFirst) {
    GroupNormPlanes(map, groups, options);
  } else {
    GroupNormPixels(map, groups, options);
  }
}

// The unbiased variance is kept, the biased one normalizes.
inline void UpdateRunning(const RunningStatistics& running, size_t channel, const GroupStatistics& batch, size_t count,
                          double momentum) {
  if (running.mean == nullptr) return;
  const double values = static_cast<double>(count);
  const double variance = batch.variance * (values / (values - 1.0));
  const auto blend = [momentum](float old, double value) {
    return static_cast<float>((1.0 - momentum) * static_cast<double>(old) + momentum * value);
  };
  running.mean[channel] = blend(running.mean[channel], batch.mean);
  running.variance[channel] = blend(running.variance[channel], variance);
}

// [samples, channels] is a matrix in either order.
inline bool IsMatrix(const ChannelShape& shape) {
  return shape.order == ChannelOrder::kChannelsLast || shape.space == 1;
}

template <typename X>
HWY_INLINE void BatchNormTrainMap(const ChannelMap<X>& map, const RunningStatistics& running,
                                  const BatchNormTrainOptions& options) {
  const ChannelShape& shape = map.shape;
  const size_t values = shape.samples * shape.space;
  const double eps = static_cast<double>(options.eps);
  const double momentum = static_cast<double>(options.momentum);
  if (IsMatrix(shape)) {
    GroupStatistics statistics[kPanel];
    for (size_t begin = 0; begin < shape.channels; begin += kPanel) {
      const size_t cols = std::min(kPanel, shape.channels - begin);
      ColumnGroupStatistics(map.x + begin, map.x_stride, values, cols, 1, eps, statistics);
      ApplyColumns(map, 0, values, begin, cols, [&](size_t channel) { return statistics[channel - begin].factors; });
      for (size_t c = 0; c < cols; ++c) UpdateRunning(running, begin + c, statistics[c], values, momentum);
    }
    return;
  }
  for (size_t channel = 0; channel < shape.channels; ++channel) {
    const ChannelPlanes<X> planes{map.x + channel * shape.space, map.x_stride, shape.samples, shape.space};
    const GroupStatistics statistics = PlaneStatistics(planes, eps);
    for (size_t sample = 0; sample < shape.samples; ++sample)
      ApplyPlane(map, sample, channel, statistics.factors, map.x_stride);
    UpdateRunning(running, channel, statistics, values, momentum);
  }
}

// Factors from given statistics. A mean near the limit of f32 would overflow when subtracted: a quarter of it does not.
inline LayerFactors GivenFactors(float mean, float variance, double eps) {
  const double square = static_cast<double>(variance) + eps;
  if (!(square > 0.0) || !std::isfinite(mean)) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return {nan, nan, nan, 1.0f};
  }
  const float scale = std::abs(mean) >= 0x1p125f ? 0.25f : 1.0f;
  return {mean * scale, -0.0f, static_cast<float>(1.0 / std::sqrt(square) / static_cast<double>(scale)), scale};
}

template <typename X>
HWY_INLINE void BatchNormEvalMap(const ChannelMap<X>& map, const float* mean, const float* variance, float eps) {
  const ChannelShape& shape = map.shape;
  const auto factors_of = [&](size_t channel) {
    return GivenFactors(mean == nullptr ? 0.0f : mean[channel], variance[channel], static_cast<double>(eps));
  };
  if (IsMatrix(shape)) {
    ApplyColumns(map, 0, shape.samples * shape.space, 0, shape.channels, factors_of);
    return;
  }
  for (size_t sample = 0; sample < shape.samples; ++sample) {
    for (size_t channel = 0; channel < shape.channels; ++channel) {
      ApplyPlane(map, sample, channel, factors_of(channel), shape.space);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_CHANNEL_NORM_INL_H_
