// norm_checked.h and norm_channels.h over contiguous ranges (std::span, std::vector, std::array): sizes come from the
// ranges and are checked against each other.
//
// Each function does what its namesake without "Span" does, or nothing at all: kInvalidArgument with the numbers, as
// the checked functions say, and for a size that is no multiple of cols, or is not what the other ranges imply. Rows
// and samples lie one behind another. An empty range for gain or bias stands for none: std::span<const float>().
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <string>

#include "prenorm/norm_channels.h"
#include "prenorm/norm_checked.h"

namespace prenorm {
namespace span_internal {

// The first complaint about sizes.
class Sizes {
 public:
  explicit Sizes(const char* op) : op_(op) {}

  Sizes& Expect(const char* name, size_t size, size_t expected, bool optional = false) {
    if (status_.ok() && size != expected && !(optional && size == 0)) {
      status_ = {StatusCode::kInvalidArgument, std::string(op_) + ": " + name + " has " + std::to_string(size) +
                                                   " elements, expected " + std::to_string(expected)};
    }
    return *this;
  }
  Sizes& ExpectRows(const char* name, size_t size, size_t cols) {
    if (status_.ok() && cols != 0 && size % cols != 0) {
      status_ = {StatusCode::kInvalidArgument, std::string(op_) + ": " + name + " has " + std::to_string(size) +
                                                   " elements, expected a multiple of cols = " + std::to_string(cols)};
    }
    return *this;
  }
  const Status& status() const { return status_; }

 private:
  const char* op_;
  Status status_;
};

inline size_t RowsOf(size_t size, size_t cols) { return cols == 0 ? 0 : size / cols; }

template <class Range>
const std::ranges::range_value_t<Range>* PointerOrNull(const Range& range) {
  return std::ranges::size(range) == 0 ? nullptr : std::ranges::data(range);
}

inline size_t MapSize(const ChannelShape& shape) { return shape.samples * shape.channels * shape.space; }
inline size_t MapStride(const ChannelShape& shape) {
  return shape.order == ChannelOrder::kChannelsFirst ? shape.channels * shape.space : shape.channels;
}

}  // namespace span_internal

/// RmsNorm of x, a multiple of `cols` elements, into `out`, as many; gain: `cols` elements or none.
template <class Xs, class Gains, class Outs>
Status SpanRmsNorm(const Xs& x, const Gains& gain, Outs&& out, size_t cols, const RmsNormOptions& options) {
  span_internal::Sizes sizes("RmsNorm");
  sizes.ExpectRows("x", std::size(x), cols).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), cols, true);
  if (!sizes.status().ok()) return sizes.status();
  return CheckedRmsNorm(std::data(x), cols, span_internal::PointerOrNull(gain), std::data(out), cols,
                        span_internal::RowsOf(std::size(x), cols), cols, options);
}

/// LayerNorm likewise; gain and bias: `cols` elements or none, of one type.
template <class Xs, class Gains, class Biases, class Outs>
Status SpanLayerNorm(const Xs& x, const Gains& gain, const Biases& bias, Outs&& out, size_t cols,
                     const LayerNormOptions& options) {
  span_internal::Sizes sizes("LayerNorm");
  sizes.ExpectRows("x", std::size(x), cols).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), cols, true).Expect("bias", std::size(bias), cols, true);
  if (!sizes.status().ok()) return sizes.status();
  return CheckedLayerNorm(std::data(x), cols, span_internal::PointerOrNull(gain), span_internal::PointerOrNull(bias),
                          std::data(out), cols, span_internal::RowsOf(std::size(x), cols), cols, options);
}

/// ResidualRmsNorm likewise; f and sum have as many elements as x.
template <class Xs, class Fs, class Sums, class Gains, class Outs>
Status SpanResidualRmsNorm(const Xs& x, const Fs& f, Sums&& sum, const Gains& gain, Outs&& out, size_t cols,
                           const Residual& residual, const RmsNormOptions& options) {
  span_internal::Sizes sizes("ResidualRmsNorm");
  sizes.ExpectRows("x", std::size(x), cols).Expect("f", std::size(f), std::size(x));
  sizes.Expect("sum", std::size(sum), std::size(x)).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), cols, true);
  if (!sizes.status().ok()) return sizes.status();
  return CheckedResidualRmsNorm(std::data(x), cols, std::data(f), cols, std::data(sum), cols,
                                span_internal::PointerOrNull(gain), std::data(out), cols,
                                span_internal::RowsOf(std::size(x), cols), cols, residual, options);
}

/// ResidualLayerNorm likewise.
template <class Xs, class Fs, class Sums, class Gains, class Biases, class Outs>
Status SpanResidualLayerNorm(const Xs& x, const Fs& f, Sums&& sum, const Gains& gain, const Biases& bias, Outs&& out,
                             size_t cols, const Residual& residual, const LayerNormOptions& options) {
  span_internal::Sizes sizes("ResidualLayerNorm");
  sizes.ExpectRows("x", std::size(x), cols).Expect("f", std::size(f), std::size(x));
  sizes.Expect("sum", std::size(sum), std::size(x)).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), cols, true).Expect("bias", std::size(bias), cols, true);
  if (!sizes.status().ok()) return sizes.status();
  return CheckedResidualLayerNorm(std::data(x), cols, std::data(f), cols, std::data(sum), cols,
                                  span_internal::PointerOrNull(gain), span_internal::PointerOrNull(bias),
                                  std::data(out), cols, span_internal::RowsOf(std::size(x), cols), cols, residual,
                                  options);
}

/// Softmax of x, a multiple of `cols` elements, in place.
inline Status SpanSoftmax(std::span<float> x, size_t cols) {
  span_internal::Sizes sizes("Softmax");
  sizes.ExpectRows("x", x.size(), cols);
  if (!sizes.status().ok()) return sizes.status();
  return CheckedSoftmax(x.data(), cols, span_internal::RowsOf(x.size(), cols), cols);
}

/// LogSumExp of x, out.size() rows of `cols` elements.
inline Status SpanLogSumExp(std::span<const float> x, std::span<float> out, size_t cols) {
  span_internal::Sizes sizes("LogSumExp");
  sizes.ExpectRows("x", x.size(), cols).Expect("out", out.size(), span_internal::RowsOf(x.size(), cols));
  if (!sizes.status().ok()) return sizes.status();
  return CheckedLogSumExp(x.data(), cols, out.data(), out.size(), cols);
}

/// GroupNorm of the map x of `shape`; gain, bias: [channels] or none, of one type. InstanceNorm: groups == channels.
template <class Xs, class Gains, class Biases, class Outs>
Status SpanGroupNorm(const Xs& x, const Gains& gain, const Biases& bias, Outs&& out, const ChannelShape& shape,
                     size_t groups, const LayerNormOptions& options) {
  span_internal::Sizes sizes("GroupNorm");
  sizes.Expect("x", std::size(x), span_internal::MapSize(shape)).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), shape.channels, true).Expect("bias", std::size(bias), shape.channels, true);
  if (!sizes.status().ok()) return sizes.status();
  const size_t stride = span_internal::MapStride(shape);
  return CheckedGroupNorm(std::data(x), stride, span_internal::PointerOrNull(gain), span_internal::PointerOrNull(bias),
                          std::data(out), stride, shape, groups, options);
}

/// BatchNormTrain likewise; running_mean, running_variance: [channels], both or neither empty.
template <class Xs, class Gains, class Biases, class Outs>
Status SpanBatchNormTrain(const Xs& x, const Gains& gain, const Biases& bias, Outs&& out, const ChannelShape& shape,
                          std::span<float> running_mean, std::span<float> running_variance,
                          const BatchNormTrainOptions& options) {
  span_internal::Sizes sizes("BatchNormTrain");
  sizes.Expect("x", std::size(x), span_internal::MapSize(shape)).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), shape.channels, true).Expect("bias", std::size(bias), shape.channels, true);
  sizes.Expect("running_mean", running_mean.size(), shape.channels, true);
  sizes.Expect("running_variance", running_variance.size(), shape.channels, true);
  if (!sizes.status().ok()) return sizes.status();
  const size_t stride = span_internal::MapStride(shape);
  return CheckedBatchNormTrain(std::data(x), stride, span_internal::PointerOrNull(gain),
                               span_internal::PointerOrNull(bias), std::data(out), stride, shape,
                               running_mean.empty() ? nullptr : running_mean.data(),
                               running_variance.empty() ? nullptr : running_variance.data(), options);
}

/// BatchNormEval likewise; mean: [channels] or none, variance: [channels].
template <class Xs, class Gains, class Biases, class Outs>
Status SpanBatchNormEval(const Xs& x, const Gains& gain, const Biases& bias, std::span<const float> mean,
                         std::span<const float> variance, Outs&& out, const ChannelShape& shape, float eps) {
  span_internal::Sizes sizes("BatchNormEval");
  sizes.Expect("x", std::size(x), span_internal::MapSize(shape)).Expect("out", std::size(out), std::size(x));
  sizes.Expect("gain", std::size(gain), shape.channels, true).Expect("bias", std::size(bias), shape.channels, true);
  sizes.Expect("mean", mean.size(), shape.channels, true).Expect("variance", variance.size(), shape.channels);
  if (!sizes.status().ok()) return sizes.status();
  const size_t stride = span_internal::MapStride(shape);
  return CheckedBatchNormEval(std::data(x), stride, span_internal::PointerOrNull(gain),
                              span_internal::PointerOrNull(bias), mean.empty() ? nullptr : mean.data(), variance.data(),
                              std::data(out), stride, shape, eps);
}

}  // namespace prenorm
