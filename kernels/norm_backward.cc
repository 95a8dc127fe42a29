// Gradients of norms: the instances of every SIMD target, and their dispatch.
#include <cstddef>

#include "kernels/channel_check.h"
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
  HWY_DASSERT(CheckBackward("backward", call.x, call.dy, call.dx, {call.x_stride, call.dy_stride, call.dx_stride},
                            {call.rows, call.cols}, call.eps)
                  .ok());
  HWY_DYNAMIC_DISPATCH(RowsBackwardInstance)(call);
}
void ChannelsBackwardDispatch(const ChannelsBackward& call) {
  HWY_DASSERT(CheckEnoughValues("backward", call.shape).ok() && call.eps >= 0.0f);
  HWY_DYNAMIC_DISPATCH(ChannelsBackwardInstance)(call);
}

}  // namespace prenorm
#endif  // HWY_ONCE
