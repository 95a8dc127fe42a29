// Entries of GroupNorm and BatchNorm that share groups or channels among an OpenMP team.
#include <algorithm>

#include "kernels/parallel/over_rows.h"
#include "prenorm/norm_channels.h"

namespace prenorm {
namespace {

// Channels per cache line of the narrowest type: ranges of channels that threads take begin at multiples of it.
constexpr size_t kChannelUnit = 32;

template <typename T>
T* Offset(T* p, size_t offset) {
  return p == nullptr ? nullptr : p + offset;
}

// Channels begin .. end of a map.
struct ChannelRange {
  size_t begin;
  size_t offset;  // elements from the first of the map
  ChannelShape shape;
};

// Calls body(range) for ranges of channels; all samples stay together.
template <class Body>
void OverChannels(const ChannelShape& shape, size_t threads, const Body& body) {
  const bool first = shape.order == ChannelOrder::kChannelsFirst && shape.space > 1;
  const size_t unit = first ? 1 : kChannelUnit;
  const size_t units = (shape.channels + unit - 1) / unit;
  OverRows(units, unit * shape.samples * shape.space, threads, [&](size_t unit_begin, size_t count) {
    ChannelRange range{unit_begin * unit, unit_begin * unit * (first ? shape.space : 1), shape};
    range.shape.channels = std::min(count * unit, shape.channels - range.begin);
    body(range);
  });
}

}  // namespace

template <typename X, typename Affine>
void ParallelGroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                       const ChannelShape& shape, size_t groups, const LayerNormOptions& options, size_t threads) {
  const bool first = shape.order == ChannelOrder::kChannelsFirst;
  const size_t group_channels = shape.channels / groups;
  // Groups that share cache lines of a pixel stay with one thread.
  const size_t unit = first ? 1 : std::max<size_t>(1, kChannelUnit / group_channels);
  const size_t units = (groups + unit - 1) / unit;
  const size_t unit_size = unit * group_channels * shape.space;
  OverRows(shape.samples * units, unit_size, threads, [&](size_t begin, size_t count) {
    for (size_t i = begin; i < begin + count; ++i) {
      const size_t sample = i / units;
      const size_t group = i % units * unit;
      const size_t part_groups = std::min(unit, groups - group);
      const size_t channel = group * group_channels;
      const ChannelShape part{1, part_groups * group_channels, shape.space, shape.order};
      const auto offset = [&](size_t stride) {
        return first ? sample * stride + channel * shape.space : sample * shape.space * stride + channel;
      };
      GroupNorm(x + offset(x_stride), x_stride, Offset(gain, channel), Offset(bias, channel), out + offset(out_stride),
                out_stride, part, part_groups, options);
    }
  });
}

template <typename X, typename Affine>
void ParallelBatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                            size_t out_stride, const ChannelShape& shape, float* running_mean, float* running_variance,
                            const BatchNormTrainOptions& options, size_t threads) {
  OverChannels(shape, threads, [&](const ChannelRange& range) {
    BatchNormTrain(x + range.offset, x_stride, Offset(gain, range.begin), Offset(bias, range.begin), out + range.offset,
                   out_stride, range.shape, Offset(running_mean, range.begin), Offset(running_variance, range.begin),
                   options);
  });
}

template <typename X, typename Affine>
void ParallelBatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                           const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps,
                           size_t threads) {
  OverChannels(shape, threads, [&](const ChannelRange& range) {
    BatchNormEval(x + range.offset, x_stride, Offset(gain, range.begin), Offset(bias, range.begin),
                  Offset(mean, range.begin), Offset(variance, range.begin), out + range.offset, out_stride, range.shape,
                  eps);
  });
}

#define PRENORM_CHANNEL_NORM(X, AFFINE)                                                                              \
  template void ParallelGroupNorm<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,             \
                                             const ChannelShape&, size_t groups, const LayerNormOptions&,            \
                                             size_t threads);                                                        \
  template void ParallelBatchNormTrain<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,        \
                                                  const ChannelShape&, float*, float*, const BatchNormTrainOptions&, \
                                                  size_t threads);                                                   \
  template void ParallelBatchNormEval<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, const float*,       \
                                                 const float*, X*, size_t, const ChannelShape&, float eps,           \
                                                 size_t threads);
#include "kernels/variants.inc"

}  // namespace prenorm
