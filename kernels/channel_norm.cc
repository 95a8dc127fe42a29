// GroupNorm and BatchNorm of feature maps: dispatch and public entries.
#include <cstddef>

#include "kernels/channel_check.h"
#include "kernels/channel_norm.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channel_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/channel_norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

#define PRENORM_DATA(NAME, X)                                                                                          \
  void GroupNorm##NAME(const ChannelMap<X>& map, size_t groups, const LayerNormOptions& options) {                     \
    GroupNormMap(map, groups, options);                                                                                \
  }                                                                                                                    \
  void Train##NAME(const ChannelMap<X>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) { \
    BatchNormTrainMap(map, running, options);                                                                          \
  }                                                                                                                    \
  void Eval##NAME(const ChannelMap<X>& map, const float* mean, const float* variance, float eps) {                     \
    BatchNormEvalMap(map, mean, variance, eps);                                                                        \
  }
#include "kernels/variants.inc"

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

#define PRENORM_DATA(NAME, X)                                                                                         \
  HWY_EXPORT(GroupNorm##NAME);                                                                                        \
  HWY_EXPORT(Train##NAME);                                                                                            \
  HWY_EXPORT(Eval##NAME);                                                                                             \
  static void Run(const ChannelMap<X>& map, size_t groups, const LayerNormOptions& options) {                         \
    HWY_DYNAMIC_DISPATCH(GroupNorm##NAME)(map, groups, options);                                                      \
  }                                                                                                                   \
  static void Run(const ChannelMap<X>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) { \
    HWY_DYNAMIC_DISPATCH(Train##NAME)(map, running, options);                                                         \
  }                                                                                                                   \
  static void Run(const ChannelMap<X>& map, const float* mean, const float* variance, float eps) {                    \
    HWY_DYNAMIC_DISPATCH(Eval##NAME)(map, mean, variance, eps);                                                       \
  }
#include "kernels/variants.inc"

template <typename X, typename Affine>
void GroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
               const ChannelShape& shape, size_t groups, const LayerNormOptions& options) {
  if (shape.samples == 0) return;
  HWY_DASSERT(CheckMap("GroupNorm", x, x_stride, out, out_stride, shape, options.eps).ok());
  HWY_DASSERT(CheckGroups("GroupNorm", groups, shape.channels).ok());
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape), groups, options);
}

template <typename X, typename Affine>
void BatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                    const ChannelShape& shape, float* running_mean, float* running_variance,
                    const BatchNormTrainOptions& options) {
  if (shape.samples == 0) return;
  HWY_DASSERT(CheckMap("BatchNormTrain", x, x_stride, out, out_stride, shape, options.eps).ok());
  HWY_DASSERT(CheckRunning("BatchNormTrain", running_mean, running_variance, options.momentum).ok());
  HWY_DASSERT(CheckEnoughValues("BatchNormTrain", shape).ok());
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape),
      RunningStatistics{running_mean, running_variance}, options);
}

template <typename X, typename Affine>
void BatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                   const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps) {
  if (shape.samples == 0) return;
  HWY_DASSERT(CheckMap("BatchNormEval", x, x_stride, out, out_stride, shape, eps).ok());
  HWY_DASSERT(CheckGivenStatistic("BatchNormEval", "variance", variance, shape).ok());
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape), mean, variance, eps);
}

#define PRENORM_CHANNEL_NORM(X, AFFINE)                                                                               \
  template void GroupNorm<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t, const ChannelShape&, \
                                     size_t groups, const LayerNormOptions&);                                         \
  template void BatchNormTrain<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,                 \
                                          const ChannelShape&, float*, float*, const BatchNormTrainOptions&);         \
  template void BatchNormEval<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, const float*, const float*,  \
                                         X*, size_t, const ChannelShape&, float eps);
#include "kernels/variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
