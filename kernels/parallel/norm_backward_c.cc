// C interface of the gradients.
#include "prenorm/norm_backward_c.h"

#include "kernels/parallel/channel_norm_c.h"
#include "kernels/parallel/norm_c_util.h"
#include "prenorm/norm_backward.h"

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

size_t prenorm_backward_workspace_size(size_t rows, size_t cols) { return BackwardWorkspaceSize(rows, cols); }

int prenorm_rms_norm_backward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                              float* dx, size_t dx_stride, float* dgain, size_t rows, size_t cols, float eps,
                              double* workspace, size_t workspace_size, size_t threads, char* message,
                              size_t message_size) {
  return Guarded(message, message_size, [&] {
    return CheckedRmsNormBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, rows, cols, eps, workspace,
                                  workspace_size, threads);
  });
}

int prenorm_layer_norm_backward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                                float* dx, size_t dx_stride, float* dgain, float* dbias, size_t rows, size_t cols,
                                float eps, double* workspace, size_t workspace_size, size_t threads, char* message,
                                size_t message_size) {
  return Guarded(message, message_size, [&] {
    return CheckedLayerNormBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, dbias, rows, cols, eps,
                                    workspace, workspace_size, threads);
  });
}

int prenorm_batch_norm_train_backward(const float* x, size_t x_stride, const float* dy, size_t dy_stride,
                                      const float* gain, float* dx, size_t dx_stride, float* dgain, float* dbias,
                                      const prenorm_channel_shape* shape, float eps, size_t threads, char* message,
                                      size_t message_size) {
  return Guarded(message, message_size, [&] {
    const Status present = CheckPresent("BatchNormTrainBackward", "shape", shape);
    if (!present.ok()) return present;
    return CheckedBatchNormTrainBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, dbias, ShapeOf(*shape),
                                         eps, threads);
  });
}
