// Checked entries of GroupNorm, InstanceNorm, BatchNorm and PowerNorm: refuse bad operands with the numbers, else call
// the others.
#include "kernels/channel_check.h"
#include "prenorm/norm_channels.h"
#include "prenorm/norm_forms.h"

namespace prenorm {
template <typename X, typename Affine>
Status CheckedGroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                        const ChannelShape& shape, size_t groups, const LayerNormOptions& options) {
  Status status = CheckGroups("GroupNorm", groups, shape.channels);
  if (status.ok()) status = CheckMap("GroupNorm", x, x_stride, out, out_stride, shape, options.eps);
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
  Status status = CheckMap("BatchNormTrain", x, x_stride, out, out_stride, shape, options.eps);
  if (status.ok()) status = CheckRunning("BatchNormTrain", running_mean, running_variance, options.momentum);
  if (status.ok()) status = CheckEnoughValues("BatchNormTrain", shape);
  if (status.ok()) {
    BatchNormTrain(x, x_stride, gain, bias, out, out_stride, shape, running_mean, running_variance, options);
  }
  return status;
}

template <typename X, typename Affine>
Status CheckedBatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                            const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps) {
  Status status = CheckMap("BatchNormEval", x, x_stride, out, out_stride, shape, eps);
  if (status.ok()) status = CheckGivenStatistic("BatchNormEval", "variance", variance, shape);
  if (status.ok()) BatchNormEval(x, x_stride, gain, bias, mean, variance, out, out_stride, shape, eps);
  return status;
}

template <typename X, typename Affine>
Status CheckedPowerNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias,
                            const float* running_quadratic_mean, X* out, size_t out_stride, const ChannelShape& shape,
                            float eps) {
  Status status = CheckMap("PowerNormEval", x, x_stride, out, out_stride, shape, eps);
  if (status.ok())
    status = CheckGivenStatistic("PowerNormEval", "running_quadratic_mean", running_quadratic_mean, shape);
  if (status.ok()) PowerNormEval(x, x_stride, gain, bias, running_quadratic_mean, out, out_stride, shape, eps);
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
                                                  const float*, X*, size_t, const ChannelShape&, float eps);           \
  template Status CheckedPowerNormEval<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, const float*, X*,    \
                                                  size_t, const ChannelShape&, float eps);
#include "kernels/variants.inc"

}  // namespace prenorm
