// What the tests of GroupNorm and BatchNorm share: feature maps in either channel order, groups of them as rows.
#pragma once

#include "prenorm/norm_channels.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {

inline constexpr ChannelOrder kOrders[] = {ChannelOrder::kChannelsFirst, ChannelOrder::kChannelsLast};

inline size_t SmallestStride(const ChannelShape& shape) {
  return shape.order == ChannelOrder::kChannelsFirst ? shape.channels * shape.space : shape.channels;
}

inline size_t StridedSize(const ChannelShape& shape, size_t stride) {
  return shape.order == ChannelOrder::kChannelsFirst ? shape.samples * stride : shape.samples * shape.space * stride;
}

inline size_t IndexOf(const ChannelShape& shape, size_t stride, size_t sample, size_t channel, size_t s) {
  if (shape.order == ChannelOrder::kChannelsFirst) return sample * stride + channel * shape.space + s;
  return (sample * shape.space + s) * stride + channel;
}

// Calls body(sample, channel, s) for every element.
template <class Body>
void ForEachElement(const ChannelShape& shape, const Body& body) {
  for (size_t n = 0; n < shape.samples; ++n) {
    for (size_t c = 0; c < shape.channels; ++c) {
      for (size_t s = 0; s < shape.space; ++s) body(n, c, s);
    }
  }
}

// `dense` is [samples, channels, space]; what lies between rows becomes `padding`.
template <typename T>
std::vector<T> Arrange(const std::vector<float>& dense, const ChannelShape& shape, size_t stride, float padding) {
  std::vector<T> map(StridedSize(shape, stride), Narrow<T>(padding));
  size_t i = 0;
  ForEachElement(shape,
                 [&](size_t n, size_t c, size_t s) { map[IndexOf(shape, stride, n, c, s)] = Narrow<T>(dense[i++]); });
  return map;
}

// The values that are normalized together, and where they come from.
struct Group {
  reference::Row values;
  std::vector<size_t> channels;
  std::vector<size_t> dense_index;
};

// Groups of `group_channels` channels of one sample each or, with `whole_batch`, of all samples.
template <typename X>
std::vector<Group> GroupsOf(const std::vector<X>& dense, const ChannelShape& shape, size_t group_channels,
                            bool whole_batch) {
  const size_t groups = shape.channels / group_channels;
  std::vector<Group> result(whole_batch ? groups : groups * shape.samples);
  size_t i = 0;
  ForEachElement(shape, [&](size_t n, size_t c, size_t) {
    Group& group = result[(whole_batch ? 0 : n * groups) + c / group_channels];
    group.values.push_back(static_cast<long double>(Widen(dense[i])));
    group.channels.push_back(c);
    group.dense_index.push_back(i++);
  });
  return result;
}

// |y - y*| <= 2^-24 (8 |g x_hat| + 24 |g| + 2 |b|), plus the rounding of a bf16 result, for every group. A mean whose
// distance to the values is 0 throughout (or eps = 0 without variance) must give NaN where the reference does.
template <typename X, typename Affine>
void ExpectPromise(const std::vector<Group>& groups, const std::vector<X>& dense_out, const Affine* gain,
                   const Affine* bias, float eps) {
  for (const Group& group : groups) {
    const reference::Row unit = reference::LayerNorm(group.values, static_cast<long double>(eps));
    for (size_t i = 0; i < unit.size(); ++i) {
      const size_t c = group.channels[i];
      const long double g = gain == nullptr ? 1.0L : static_cast<long double>(Widen(gain[c]));
      const long double b = bias == nullptr ? 0.0L : static_cast<long double>(Widen(bias[c]));
      const float y = Widen(dense_out[group.dense_index[i]]);
      if (!std::isfinite(unit[i])) {
        ASSERT_TRUE(std::isnan(y));
        continue;
      }
      const long double expected = g * unit[i] + b;
      const long double rounding = std::is_same_v<X, bf16> ? std::abs(expected) * 0x1.01p-8L : 0.0L;
      const long double bound = 0x1p-24L * (8 * std::abs(g * unit[i]) + 24 * std::abs(g) + 2 * std::abs(b)) + rounding;
      ASSERT_LE(std::abs(y - expected), bound) << "channel " << c << " element " << i << " of " << unit.size();
    }
  }
}

// The elements of a strided map in the order [samples, channels, space].
template <typename T>
std::vector<T> Dense(const std::vector<T>& map, const ChannelShape& shape, size_t stride) {
  std::vector<T> dense;
  ForEachElement(shape, [&](size_t n, size_t c, size_t s) { dense.push_back(map[IndexOf(shape, stride, n, c, s)]); });
  return dense;
}

// What lies between samples or pixels still holds `padding`.
template <typename T>
void ExpectGapsUntouched(std::vector<T> map, const ChannelShape& shape, size_t stride, float padding) {
  ForEachElement(shape,
                 [&](size_t n, size_t c, size_t s) { map[IndexOf(shape, stride, n, c, s)] = Narrow<T>(padding); });
  for (const T& v : map) ASSERT_EQ(Widen(v), padding);
}

}  // namespace prenorm
