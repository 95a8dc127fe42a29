// Checked entries of the gradients: refuse bad operands with the numbers, else call the unchecked function.
#include <string>

#include "kernels/channel_check.h"
#include "prenorm/norm_backward.h"

namespace prenorm {
namespace {

Status CheckWorkspace(const char* op, const double* workspace, size_t size, size_t rows, size_t cols) {
  const size_t needed = BackwardWorkspaceSize(rows, cols);
  if (needed == 0 || (workspace != nullptr && size >= needed)) return {};
  return Refusal(op, "workspace holds " + std::to_string(workspace == nullptr ? 0 : size) + " elements, expected " +
                         std::to_string(needed) + " (BackwardWorkspaceSize of " + std::to_string(rows) + " rows of " +
                         std::to_string(cols) + ")");
}

}  // namespace

Status CheckedRmsNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                              float* dx, size_t dx_stride, float* dgain, size_t rows, size_t cols, float eps,
                              double* workspace, size_t workspace_size, size_t threads) {
  const char* op = "RmsNormBackward";
  Status status = CheckBackward(op, x, dy, dx, {x_stride, dy_stride, dx_stride}, {rows, cols}, eps);
  if (status.ok() && dgain != nullptr) status = CheckWorkspace(op, workspace, workspace_size, rows, cols);
  if (status.ok()) {
    RmsNormBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, rows, cols, eps, workspace, threads);
  }
  return status;
}

Status CheckedLayerNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                                float* dx, size_t dx_stride, float* dgain, float* dbias, size_t rows, size_t cols,
                                float eps, double* workspace, size_t workspace_size, size_t threads) {
  const char* op = "LayerNormBackward";
  Status status = CheckBackward(op, x, dy, dx, {x_stride, dy_stride, dx_stride}, {rows, cols}, eps);
  if (status.ok() && (dgain != nullptr || dbias != nullptr)) {
    status = CheckWorkspace(op, workspace, workspace_size, rows, cols);
  }
  if (status.ok()) {
    LayerNormBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, dbias, rows, cols, eps, workspace,
                      threads);
  }
  return status;
}

Status CheckedBatchNormTrainBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride,
                                     const float* gain, float* dx, size_t dx_stride, float* dgain, float* dbias,
                                     const ChannelShape& shape, float eps, size_t threads) {
  const char* op = "BatchNormTrainBackward";
  MapExtents extents;
  Status status = CheckShape(op, shape, &extents);
  if (status.ok()) status = CheckBackward(op, x, dy, dx, {x_stride, dy_stride, dx_stride}, extents, eps);
  if (status.ok()) status = CheckEnoughValues(op, shape);
  if (status.ok()) {
    BatchNormTrainBackward(x, x_stride, dy, dy_stride, gain, dx, dx_stride, dgain, dbias, shape, eps, threads);
  }
  return status;
}

}  // namespace prenorm
