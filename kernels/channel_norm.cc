// GroupNorm and BatchNorm of feature maps: dispatch and public entries.
#include <cstddef>

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

void GroupNormF32(const ChannelMap<float>& map, size_t groups, const LayerNormOptions& options) {
  GroupNormMap(map, groups, options);
}
void GroupNormBf16(const ChannelMap<bf16>& map, size_t groups, const LayerNormOptions& options) {
  GroupNormMap(map, groups, options);
}
void TrainF32(const ChannelMap<float>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) {
  BatchNormTrainMap(map, running, options);
}
void TrainBf16(const ChannelMap<bf16>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) {
  BatchNormTrainMap(map, running, options);
}
void EvalF32(const ChannelMap<float>& map, const float* mean, const float* variance, float eps) {
  BatchNormEvalMap(map, mean, variance, eps);
}
void EvalBf16(const ChannelMap<bf16>& map, const float* mean, const float* variance, float eps) {
  BatchNormEvalMap(map, mean, variance, eps);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(GroupNormF32);
HWY_EXPORT(GroupNormBf16);
HWY_EXPORT(TrainF32);
HWY_EXPORT(TrainBf16);
HWY_EXPORT(EvalF32);
HWY_EXPORT(EvalBf16);

namespace {

void Run(const ChannelMap<float>& map, size_t groups, const LayerNormOptions& options) {
  HWY_DYNAMIC_DISPATCH(GroupNormF32)(map, groups, options);
}
void Run(const ChannelMap<bf16>& map, size_t groups, const LayerNormOptions& options) {
  HWY_DYNAMIC_DISPATCH(GroupNormBf16)(map, groups, options);
}
void Run(const ChannelMap<float>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) {
  HWY_DYNAMIC_DISPATCH(TrainF32)(map, running, options);
}
void Run(const ChannelMap<bf16>& map, const RunningStatistics& running, const BatchNormTrainOptions& options) {
  HWY_DYNAMIC_DISPATCH(TrainBf16)(map, running, options);
}
void Run(const ChannelMap<float>& map, const float* mean, const float* variance, float eps) {
  HWY_DYNAMIC_DISPATCH(EvalF32)(map, mean, variance, eps);
}
void Run(const ChannelMap<bf16>& map, const float* mean, const float* variance, float eps) {
  HWY_DYNAMIC_DISPATCH(EvalBf16)(map, mean, variance, eps);
}

}  // namespace

template <typename X, typename Affine>
void GroupNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
               const ChannelShape& shape, size_t groups, const LayerNormOptions& options) {
  if (shape.samples == 0) return;
  HWY_DASSERT(shape.channels > 0 && shape.space > 0 && groups > 0 && shape.channels % groups == 0);
  HWY_DASSERT(options.eps >= 0.0f);
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape), groups, options);
}

template <typename X, typename Affine>
void BatchNormTrain(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, X* out, size_t out_stride,
                    const ChannelShape& shape, float* running_mean, float* running_variance,
                    const BatchNormTrainOptions& options) {
  if (shape.samples == 0) return;
  HWY_DASSERT(shape.channels > 0 && shape.space > 0 && shape.samples * shape.space > 1);
  HWY_DASSERT(options.eps >= 0.0f && options.momentum >= 0.0f && options.momentum <= 1.0f);
  HWY_DASSERT((running_mean == nullptr) == (running_variance == nullptr));
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape),
      RunningStatistics{running_mean, running_variance}, options);
}

template <typename X, typename Affine>
void BatchNormEval(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, const float* mean,
                   const float* variance, X* out, size_t out_stride, const ChannelShape& shape, float eps) {
  if (shape.samples == 0) return;
  HWY_DASSERT(shape.channels > 0 && shape.space > 0 && eps >= 0.0f);
  Run(MakeChannelMap(x, x_stride, gain, bias, out, out_stride, shape), mean, variance, eps);
}

#define PRENORM_CHANNEL_NORM(X, AFFINE)                                                                               \
  template void GroupNorm<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t, const ChannelShape&, \
                                     size_t groups, const LayerNormOptions&);                                         \
  template void BatchNormTrain<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, X*, size_t,                 \
                                          const ChannelShape&, float*, float*, const BatchNormTrainOptions&);         \
  template void BatchNormEval<X, AFFINE>(const X*, size_t, const AFFINE*, const AFFINE*, const float*, const float*,  \
                                         X*, size_t, const ChannelShape&, float eps);
#include "kernels/channel_variants.inc"

}  // namespace prenorm
#endif  // HWY_ONCE
