// Checked entries of the gradients: refuse bad operands with the numbers, else call the unchecked function.
#include <string>

#include "kernels/channel_check.h"
#include "prenorm/norm_backward.h"

namespace prenorm {
namespace {

struct Strides {
  size_t x;
  size_t dy;
  size_t dx;
};

Status CheckBackward(const char* op, const float* x, const float* dy, const float* dx, const Strides& strides,
                     const MapExtents& extents, float eps) {
  const auto [rows, cols] = extents;
  const RowBlock x_block = Block("x", x, strides.x, rows, cols);
  const RowBlock dy_block = Block("dy", dy, strides.dy, rows, cols);
  const RowBlock dx_block = Block("dx", dx, strides.dx, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(dy_block).Rows(dx_block);
  check.Disjoint(x_block, dx_block, true).Disjoint(dy_block, dx_block, true);
  return check.status();
}

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
