// GroupNorm, InstanceNorm and BatchNorm against the oracle. A row becomes a feature map whose statistics run over all
// of it: one group, one instance, or one channel of a batch. So one oracle serves rows and maps.
#include "prenorm/norm_channels.h"
#include "tools/norms_measure.h"

namespace prenorm::tools {
namespace {

// Where the values of a row lie: value i belongs to channel i / space, or i % channels where channels come last.
struct Layout {
  const char* op;
  const char* mode;
  ChannelShape shape;
};

size_t ChannelOf(const ChannelShape& shape, size_t i) {
  return shape.order == ChannelOrder::kChannelsFirst ? i / shape.space % shape.channels : i % shape.channels;
}

size_t StrideOf(const ChannelShape& shape) {
  return shape.order == ChannelOrder::kChannelsFirst ? shape.channels * shape.space : shape.channels;
}

template <typename X>
void CompareMap(const std::vector<X>& y, const Layout& layout, const Exact& unit, const Gains& gains, Cases& cases) {
  Case& found = cases.At<X, X>(layout.op, layout.mode, "f32", kLayerPromise, y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t channel = ChannelOf(layout.shape, i);
    const long double g = gains.gain[channel], b = gains.bias[channel];
    found.Compare(y[i], g * unit[i] + b, LayerBound(unit[i], g, b));
  }
}

template <typename X>
void RunGroups(const std::vector<X>& x, float eps, const Exact& unit, const Gains& gains, Cases& cases) {
  const size_t cols = x.size();
  const size_t channels = cols % 2 == 0 ? 2 : cols;  // With an odd length all are channels of one pixel.
  const size_t space = cols / channels;
  std::vector<X> y(cols);
  for (const Layout& layout : {Layout{"group_norm", "NCHW", {1, channels, space, ChannelOrder::kChannelsFirst}},
                               Layout{"group_norm", "NHWC", {1, channels, space, ChannelOrder::kChannelsLast}}}) {
    const size_t stride = StrideOf(layout.shape);
    GroupNorm(x.data(), stride, gains.gain.data(), gains.bias.data(), y.data(), stride, layout.shape, 1, {eps, {}});
    CompareMap(y, layout, unit, gains, cases);
  }
  for (const Layout& layout : {Layout{"instance_norm", "NCHW", {1, 1, cols, ChannelOrder::kChannelsFirst}},
                               Layout{"instance_norm", "NHWC", {1, 1, cols, ChannelOrder::kChannelsLast}}}) {
    const size_t stride = StrideOf(layout.shape);
    InstanceNorm(x.data(), stride, gains.gain.data(), gains.bias.data(), y.data(), stride, layout.shape, {eps, {}});
    CompareMap(y, layout, unit, gains, cases);
  }
}

template <typename X>
void RunBatch(const std::vector<X>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  const size_t cols = x.size();
  if (cols < 2) return;  // One value has no variance.
  std::vector<X> y(cols);
  for (const Layout& layout : {Layout{"batch_norm_train", "[N, C]", {cols, 1, 1, ChannelOrder::kChannelsLast}},
                               Layout{"batch_norm_train", "NCHW", {1, 1, cols, ChannelOrder::kChannelsFirst}}}) {
    const size_t stride = StrideOf(layout.shape);
    BatchNormTrain(x.data(), stride, gains.gain.data(), gains.bias.data(), y.data(), stride, layout.shape, nullptr,
                   nullptr, {eps, 0.1f});
    CompareMap(y, layout, oracle.layer, gains, cases);
  }
  // In eval the statistics are given, as f32.
  const ExactMoments moments = MomentsOf(oracle.values);
  const auto mean = static_cast<float>(moments.mean), variance = static_cast<float>(moments.variance);
  if (!std::isfinite(variance)) return;
  const ChannelShape shape{cols, 1, 1, ChannelOrder::kChannelsLast};
  BatchNormEval(x.data(), 1, gains.gain.data(), gains.bias.data(), &mean, &variance, y.data(), 1, shape, eps);
  Case& found = cases.At<X, X>("batch_norm_eval", "[N, C]", "f32", "<= 2^-24 (5 |g x^| + 2 |b|)", cols);
  const long double g = gains.gain[0], b = gains.bias[0];
  const long double stddev = std::sqrt(static_cast<long double>(variance) + static_cast<long double>(eps));
  for (size_t i = 0; i < cols; ++i) {
    const long double unit = (oracle.values[i] - static_cast<long double>(mean)) / stddev;
    if (!IsNormal(unit)) continue;
    found.Compare(y[i], g * unit + b, 0x1p-24L * (5 * std::abs(g * unit) + 2 * std::abs(b)));
  }
}

template <typename X>
void Run(const std::vector<X>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  if (oracle.layer.empty()) return;
  RunGroups(x, eps, oracle.layer, gains, cases);
  RunBatch(x, eps, oracle, gains, cases);
}

}  // namespace

void RunMapNorms(const std::vector<float>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  Run(x, eps, oracle, gains, cases);
}

void RunMapNorms(const std::vector<bf16>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  Run(x, eps, oracle, gains, cases);
}

}  // namespace prenorm::tools
