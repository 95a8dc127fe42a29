// Gradients of norms: the instances of every SIMD target, and their dispatch.
#include <cstddef>

#include "kernels/norm_backward.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm_backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/norm_backward-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void RowsBackwardInstance(const RowsBackward& call) { RowsBackwardUnit(call); }
void ChannelsBackwardInstance(const ChannelsBackward& call) { ChannelsBackwardUnit(call); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(RowsBackwardInstance);
HWY_EXPORT(ChannelsBackwardInstance);

void RowsBackwardDispatch(const RowsBackward& call) {
  HWY_DASSERT(call.cols > 0 && call.eps >= 0.0f);
  HWY_DASSERT(call.rows <= 1 || HWY_MIN(HWY_MIN(call.x_stride, call.dy_stride), call.dx_stride) >= call.cols);
  HWY_DYNAMIC_DISPATCH(RowsBackwardInstance)(call);
}
void ChannelsBackwardDispatch(const ChannelsBackward& call) {
  HWY_DASSERT(call.shape.samples * call.shape.space > 1 && call.eps >= 0.0f);
  HWY_DYNAMIC_DISPATCH(ChannelsBackwardInstance)(call);
}

}  // namespace prenorm
#endif  // HWY_ONCE
