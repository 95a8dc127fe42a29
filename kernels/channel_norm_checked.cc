// Checked entries of GroupNorm, InstanceNorm and BatchNorm: refuse bad operands with the numbers, else call the others.
#include <cmath>
#include <string>

#include "kernels/channel_check.h"
#include "prenorm/norm_channels.h"

namespace prenorm {
namespace {

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

}  // namespace

template <typename X, typename Affine>
Status CheckedGroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                        const ChannelShape& shape, size_t groups, const LayerNormOptions& options) {
  if (groups == 0 || shape.channels % groups != 0) {
    return Refusal("GroupNorm", std::to_string(groups) + " groups do not divide " + std::to_string(shape.channels) +
                                    " channels; give a divisor of the number of channels");
  }
  Status status = CheckMap("GroupNorm", x, x_stride, out, out_stride, shape, options.eps);
  if (status.ok()) GroupNorm(x, x_stride, gain, bias, out, out_stride, shape, groups, options);
  return status;
}

template <typename X, typename Affine>
Status CheckedInstanceNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                           size_t out_stride, const ChannelShape& shape, const LayerNormOptions& options) {
  Status status = CheckMap("InstanceNorm", x, x_stride, out, out_stride, shape, options.eps);
  if (status.ok()) InstanceNorm(x, x_stride, gain, bias, out, out_stride, shape, options);
  return status;
}

template <typename X, typename Affine>
Status CheckedBatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                             size_t out_stride, const ChannelShape& shape, float* running_mean, float* running_variance,
                             const BatchNormTrainOptions& options) {
  const char* op = "BatchNormTrain";
  Status status = CheckMap(op, x, x_stride, out, out_stride, shape, options.eps);
  if (!status.ok()) return status;
  if (!(options.momentum >= 0.0f && options.momentum <= 1.0f)) {
    return Refusal(
        op, "momentum is " + std::to_string(options.momentum) + ", expected the weight of the new batch, from 0 to 1");
  }
  if ((running_mean == nullptr) != (running_variance == nullptr)) {
    return Refusal(op, std::string(running_mean == nullptr ? "running_mean" : "running_variance") +
                           " is null; give both running statistics or neither");
  }
  status = CheckEnoughValues(op, shape);
  if (!status.ok()) return status;
  BatchNormTrain(x, x_stride, gain, bias, out, out_stride, shape, running_mean, running_variance, options);
  return status;
}

template <typename X, typename Affine>
Status CheckedBatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                            const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps) {
  const char* op = "BatchNormEval";
  Status status = CheckMap(op, x, x_stride, out, out_stride, shape, eps);
  if (!status.ok() || shape.samples == 0) return status;
  if (variance == nullptr) {
    return Refusal(op, "variance is null, expected " + std::to_string(shape.channels) + " elements");
  }
  for (size_t c = 0; c < shape.channels; ++c) {
    if (!(variance[c] >= 0.0f)) {
      return Refusal(op, "variance of channel " + std::to_string(c) + " is " + std::to_string(variance[c]) +
                             ", expected a number >= 0");
    }
  }
  BatchNormEval(x, x_stride, gain, bias, mean, variance, out, out_stride, shape, eps);
  return status;
}

#define PRENORM_CHANNEL_NORM(X, AFFINE)                                                                                \
  template Status CheckedGroupNorm<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,              \
                                              const ChannelShape&, size_t groups, const LayerNormOptions&);            \
  template Status CheckedInstanceNorm<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,           \
                                                 const ChannelShape&, const LayerNormOptions&);                        \
  template Status CheckedBatchNormTrain<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,         \
                                                   const ChannelShape&, float*, float*, const BatchNormTrainOptions&); \
  template Status CheckedBatchNormEval<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, const float*,        \
                                                  const float*, X*, size_t, const ChannelShape&, float eps);
#include "kernels/channel_variants.inc"

}  // namespace prenorm
