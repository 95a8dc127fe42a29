// Statistics of the channels and channel groups of a feature map, with range handling; in either channel order.

#if defined(PRENORM_KERNELS_CHANNEL_STATISTICS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_CHANNEL_STATISTICS_INL_H_
#undef PRENORM_KERNELS_CHANNEL_STATISTICS_INL_H_
#else
#define PRENORM_KERNELS_CHANNEL_STATISTICS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/columns-inl.h"
#include "kernels/layer_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What normalizes a group, and its moments, scaling undone.
struct GroupStatistics {
  LayerFactors factors;
  double mean;
  double variance;
};

HWY_INLINE GroupStatistics StatisticsOf(const MergedMoments& moments, double eps, float scale) {
  const double wide_scale = static_cast<double>(scale);
  const float shift = static_cast<float>(moments.mean);
  const double square = moments.Variance() + eps * wide_scale * wide_scale;
  return {MakeFactors(shift, moments.mean - static_cast<double>(shift), InvStddev(square), scale),
          moments.mean / wide_scale, moments.Variance() / wide_scale / wide_scale};
}

// Statistics from moments_of(1), or from moments_of(scale) where squares left the range of f32. max_abs_of() gives the
// bits of the largest magnitude.
template <class MaxAbsOf, class MomentsOf>
HWY_INLINE GroupStatistics InRangeStatistics(const MergedMoments& moments, double eps, const MaxAbsOf& max_abs_of,
                                             const MomentsOf& moments_of) {
  const double square = moments.Variance() + eps;
  if (HWY_LIKELY(square >= 0x1p-118 && square <= 0x1p250)) return StatisticsOf(moments, eps, 1.0f);
  const uint32_t max_abs = max_abs_of();
  if (max_abs >= kInfBits) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return {{nan, nan, nan, 1.0f}, std::nan(""), std::nan("")};
  }
  const float scale = ScaleFor(max_abs);
  return StatisticsOf(moments_of(scale), eps, scale);
}

// ---- Channels last: a matrix [rows, channels]

// Of all values of `cols` columns together.
template <typename X>
HWY_NOINLINE GroupStatistics ColumnGroupRedo(const X* x, size_t stride, size_t rows, size_t cols, double eps,
                                             const MergedMoments& moments) {
  const auto max_abs_of = [&]() HWY_ATTR {
    uint32_t max_abs = 0;
    for (size_t row = 0; row < rows; ++row)
      max_abs = std::max(max_abs, MaxAbsBits(StoredPieces<X>(x + row * stride), cols));
    return max_abs;
  };
  const auto moments_of = [&](float scale) HWY_ATTR {
    MergedMoments merged;
    for (size_t begin = 0; begin < cols; begin += kPanel) {
      MergedMoments panel[kPanel];
      const size_t panel_cols = std::min(kPanel, cols - begin);
      ColumnMoments(x + begin, stride, rows, panel_cols, scale, panel);
      for (size_t c = 0; c < panel_cols; ++c) merged.Merge(panel[c].count, panel[c].mean, 0.0, panel[c].squares);
    }
    return merged;
  };
  if (moments.count == 0.0) return InRangeStatistics(moments_of(1.0f), eps, max_abs_of, moments_of);
  return InRangeStatistics(moments, eps, max_abs_of, moments_of);
}

// Of groups of `group_cols` columns each: groups * group_cols <= kPanel, or one group of any width.
template <typename X>
HWY_INLINE void ColumnGroupStatistics(const X* x, size_t stride, size_t rows, size_t groups, size_t group_cols,
                                      double eps, GroupStatistics* statistics) {
  if (group_cols > kPanel) {
    statistics[0] = ColumnGroupRedo(x, stride, rows, group_cols, eps, MergedMoments());
    return;
  }
  MergedMoments panel[kPanel];
  ColumnMoments(x, stride, rows, groups * group_cols, 1.0f, panel);
  for (size_t g = 0; g < groups; ++g) {
    MergedMoments merged;
    for (size_t c = g * group_cols; c < (g + 1) * group_cols; ++c) {
      merged.Merge(panel[c].count, panel[c].mean, 0.0, panel[c].squares);
    }
    const double square = merged.Variance() + eps;
    statistics[g] = HWY_LIKELY(square >= 0x1p-118 && square <= 0x1p250)
                        ? StatisticsOf(merged, eps, 1.0f)
                        : ColumnGroupRedo(x + g * group_cols, stride, rows, group_cols, eps, merged);
  }
}

// ---- Channels first: a channel is one plane per sample

// The planes of one channel as one row of samples * space elements.
template <typename X>
struct ChannelPlanes {
  const X* x;
  size_t sample_stride;
  size_t samples;
  size_t space;

  size_t Size() const { return samples * space; }

  // buffer[0 .. end - begin) = scale * elements begin .. end.
  HWY_INLINE void Gather(size_t begin, size_t end, float scale, float* buffer) const {
    const RowTag df;
    const RowVec scales = hn::Set(df, scale);
    while (begin != end) {
      const size_t offset = begin % space;
      const size_t count = std::min(end - begin, space - offset);
      MapRow(
          df, count, buffer, [&](RowVec v) HWY_ATTR { return hn::Mul(v, scales); },
          x + begin / space * sample_stride + offset);
      buffer += count;
      begin += count;
    }
  }
};

// 1024 elements at a time, in place where they lie in one plane.
template <typename X>
HWY_NOINLINE MergedMoments PlaneMoments(const ChannelPlanes<X>& planes, float scale) {
  HWY_ALIGN float buffer[kChunk];
  MergedMoments merged;
  const size_t size = planes.Size();
  for (size_t begin = 0; begin < size; begin += kChunk) {
    const size_t count = std::min(kChunk, size - begin);
    Moments moments;
    if (scale == 1.0f && begin % planes.space + count <= planes.space) {
      moments = RowMoments(planes.x + begin / planes.space * planes.sample_stride + begin % planes.space, count);
    } else {
      planes.Gather(begin, begin + count, scale, buffer);
      moments = RowMoments(static_cast<const float*>(buffer), count);
    }
    const double values = static_cast<double>(count);
    merged.Merge(values, static_cast<double>(moments.shift), moments.delta, moments.variance * values);
  }
  return merged;
}

template <typename X>
HWY_INLINE GroupStatistics PlaneStatistics(const ChannelPlanes<X>& planes, double eps) {
  const auto max_abs_of = [&]() HWY_ATTR {
    uint32_t max_abs = 0;
    for (size_t s = 0; s < planes.samples; ++s) {
      max_abs = std::max(max_abs, MaxAbsBits(StoredPieces<X>(planes.x + s * planes.sample_stride), planes.space));
    }
    return max_abs;
  };
  const auto moments_of = [&](float scale) HWY_ATTR { return PlaneMoments(planes, scale); };
  return InRangeStatistics(moments_of(1.0f), eps, max_abs_of, moments_of);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_CHANNEL_STATISTICS_INL_H_
