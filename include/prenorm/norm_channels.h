// Normalization of feature maps with a gain and bias per channel: GroupNorm, InstanceNorm, BatchNorm.
//
// Three forms of each operator: over pointers without checks (debug builds assert), Checked... with every argument
// checked, Parallel... with groups or channels shared among an OpenMP team. All three give the same bits, on AVX2,
// every AVX-512 target and NEON, for every thread count. Sizes and strides count elements; any alignment will do.
// Reentrant; the unchecked forms neither allocate, print nor throw.
#pragma once

#include <cstddef>

#include "prenorm/norm.h"
#include "prenorm/status.h"

namespace prenorm {

/// Which axis of a feature map runs fastest.
enum class ChannelOrder {
  kChannelsFirst,  ///< [samples, channels, space] (NCHW); a stride is the distance of samples, >= channels * space.
  kChannelsLast,   ///< [samples, space, channels] (NHWC); a stride is the distance of pixels, >= channels.
};

/// Extents of a feature map. `space` is height * width (1 for the plain form [samples, channels]).
struct ChannelShape {
  size_t samples = 0;  ///< 0 is valid: nothing is read or written.
  size_t channels = 0;
  size_t space = 1;
  ChannelOrder order = ChannelOrder::kChannelsFirst;
};

/// out = gain[c] * (x - mean) / sqrt(variance + eps) + bias[c], with mean and biased variance over the
/// channels / groups channels of a group and all of space, for each sample.
///
/// Shapes    x, out: as `shape` says, with strides of their own; gain, bias: [channels], each or both null.
/// Types     X, Affine: each float or bf16; statistics in f32 lanes with an f64 spine, one rounding at the store.
/// Memory    out == x is allowed, other overlap is not. What lies between samples or pixels is not touched.
/// Requires  channels > 0, space > 0, groups > 0 divides channels, eps >= 0.
/// Accuracy  as LayerNorm. options.variance: kTwoPass reads a group twice, kSinglePass once; kChannelsLast
///           merges blocks of 64 pixels either way. A constant group gives exactly the bias, with eps = 0 NaN; NaN or
///           Inf makes its own group NaN and no other.
/// Source    Wu and He 2018, eq. 1 and 2; as torch.nn.GroupNorm. groups == 1 is LayerNorm over channels * space.
template <typename X, typename Affine>
void GroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
               const ChannelShape& shape, size_t groups, const LayerNormOptions& options);

/// GroupNorm with groups == channels: each channel of each sample by itself.
///
/// Source    Ulyanov, Vedaldi and Lempitsky 2016; as torch.nn.InstanceNorm2d without running statistics.
template <typename X, typename Affine>
void InstanceNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                  const ChannelShape& shape, const LayerNormOptions& options) {
  GroupNorm(x, x_stride, gain, bias, out, out_stride, shape, shape.channels, options);
}

struct BatchNormTrainOptions {
  float eps = 0.0f;       ///< >= 0, added to the variance. torch's default is 1e-5.
  float momentum = 0.1f;  ///< In [0, 1]: the weight of the new batch (torch's convention; 1 - momentum in TensorFlow).
};

/// out = gain[c] * (x - mean[c]) / sqrt(variance[c] + eps) + bias[c], with mean and biased variance of this batch over
/// samples and space; then, unless they are null, running = (1 - momentum) * running + momentum * batch, where the
/// running variance takes the unbiased variance of the batch (divided by the number of values less one).
///
/// Shapes    as GroupNorm; running_mean, running_variance: [channels], both or neither null. Pass null when the same
///           batch is computed again (activation recomputation), so that it does not count twice.
/// Types     as GroupNorm; running statistics are updated in f64 and rounded once.
/// Memory    as GroupNorm.
/// Requires  samples * space >= 2 (a single value has no variance), eps >= 0, 0 <= momentum <= 1.
/// Accuracy  as LayerNorm, in one pass over memory for the statistics. NaN or Inf makes its channel NaN, running
///           statistics included; a running variance beyond FLT_MAX becomes Inf.
/// Source    Ioffe and Szegedy 2015, algorithm 1; as torch.nn.BatchNorm2d in training mode.
template <typename X, typename Affine>
void BatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                    const ChannelShape& shape, float* running_mean, float* running_variance,
                    const BatchNormTrainOptions& options);

/// out = gain[c] * (x - mean[c]) / sqrt(variance[c] + eps) + bias[c] with given statistics.
///
/// Shapes    as GroupNorm; mean: [channels], or null for zeros; variance: [channels], each >= 0.
/// Accuracy  at most 4 roundings per element; any finite magnitude is right. variance + eps == 0 makes its channel NaN.
/// Source    Ioffe and Szegedy 2015, algorithm 2; as torch.nn.BatchNorm2d in eval mode.
template <typename X, typename Affine>
void BatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                   const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps);

// Checked: kInvalidArgument with the operator and the numbers in the message, and nothing touched, for an extent of 0
// (but samples), a group count that does not divide the channels, short strides, null operands, sizes that overflow,
// overlaps other than out == x, a bad eps or momentum, one running statistic without the other, fewer than two values
// per channel in training, a negative or NaN variance in eval.

template <typename X, typename Affine>
Status CheckedGroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                        const ChannelShape& shape, size_t groups, const LayerNormOptions& options);

template <typename X, typename Affine>
Status CheckedInstanceNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                           size_t out_stride, const ChannelShape& shape, const LayerNormOptions& options);

template <typename X, typename Affine>
Status CheckedBatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                             size_t out_stride, const ChannelShape& shape, float* running_mean, float* running_variance,
                             const BatchNormTrainOptions& options);

template <typename X, typename Affine>
Status CheckedBatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                            const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps);

// Parallel: at most `threads` threads (0: the default of OpenMP), fewer where there is little work.

template <typename X, typename Affine>
void ParallelGroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                       const ChannelShape& shape, size_t groups, const LayerNormOptions& options, size_t threads = 0);

template <typename X, typename Affine>
void ParallelInstanceNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                          size_t out_stride, const ChannelShape& shape, const LayerNormOptions& options,
                          size_t threads = 0) {
  ParallelGroupNorm(x, x_stride, gain, bias, out, out_stride, shape, shape.channels, options, threads);
}

template <typename X, typename Affine>
void ParallelBatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out,
                            size_t out_stride, const ChannelShape& shape, float* running_mean, float* running_variance,
                            const BatchNormTrainOptions& options, size_t threads = 0);

template <typename X, typename Affine>
void ParallelBatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                           const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps,
                           size_t threads = 0);

}  // namespace prenorm
