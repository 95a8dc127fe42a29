// Gradients of RMSNorm, LayerNorm and of BatchNorm in training, in f32.
//
// What the forward pass computed is not passed in but computed again from x, with the same bits. Gradients of gain and
// bias are summed over the rows in parts that depend on the shape alone, and merged in f64 in a fixed order: their bits
// do not depend on the number of threads, nor on the SIMD target (AVX2, every AVX-512 target, NEON).
// Sizes and strides count elements; any alignment will do. Reentrant; nothing here prints or throws, and only the
// messages of the checked entries allocate.
//
// Accuracy, with x_hat the normalized row, r its 1 / sqrt(...) and n the values that one mean runs over:
//   |dx - dx*| <= (n / 128 + 8) * 2^-24 * r * (max |gain * dy| + max |x_hat| * mean |gain * dy * x_hat|).
// Rows of x of any finite magnitude are right; |gain * dy| and |gain * dy * x_hat| must stay below 2^123, so that 16 of
// them can be added. NaN and Inf spread as in the forward pass; in dgain and dbias they reach their own column.
#pragma once

#include <cstddef>

#include "prenorm/norm_channels.h"
#include "prenorm/status.h"

namespace prenorm {

/// Elements of the workspace (f64) that a row-wise gradient needs for sums over rows; at most 48 * cols.
size_t BackwardWorkspaceSize(size_t rows, size_t cols);

/// y = gain * x * r with r = 1 / sqrt(mean square + eps), eps inside the root:
/// dx = r * (gain * dy - x_hat * mean(gain * dy * x_hat)), dgain[c] = sum over rows of dy * x_hat.
///
/// Shapes    x, dy, dx: [rows, cols] with strides of their own; gain, dgain: [cols], each or both null.
///           workspace: BackwardWorkspaceSize(rows, cols) elements, or null where dgain is.
/// Memory    dx == x or dx == dy is allowed, other overlap is not. dgain is overwritten (zeros if rows == 0).
/// Threads   at most `threads` (0: the default of OpenMP; 1: the calling thread alone).
/// Source    Zhang and Sennrich 2019, on the gradient.
void RmsNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain, float* dx,
                     size_t dx_stride, float* dgain, size_t rows, size_t cols, float eps, double* workspace,
                     size_t threads = 1);

/// y = gain * x_hat + bias with x_hat = (x - mean) * r, r = 1 / sqrt(variance + eps):
/// dx = r * (gain * dy - mean(gain * dy) - x_hat * mean(gain * dy * x_hat)), dgain[c] = sum over rows of dy * x_hat,
/// dbias[c] = sum over rows of dy. The rest is as in RmsNormBackward; dbias: [cols] or null.
///
/// Source    Ba, Kiros and Hinton 2016; Xu et al. 2019 for the two terms that centre and rescale the gradient.
void LayerNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain, float* dx,
                       size_t dx_stride, float* dgain, float* dbias, size_t rows, size_t cols, float eps,
                       double* workspace, size_t threads = 1);

/// Of BatchNormTrain: per channel, with means over samples and space,
/// dx = gain * r * (dy - mean(dy) - x_hat * mean(dy * x_hat)), dgain = sum of dy * x_hat, dbias = sum of dy.
///
/// Shapes    x, dy, dx: as `shape` says; gain, dgain, dbias: [channels], each may be null.
/// Memory    dx == x or dx == dy is allowed, other overlap is not.
/// Requires  samples * space >= 2.
/// Source    Ioffe and Szegedy 2015, section 3.
void BatchNormTrainBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                            float* dx, size_t dx_stride, float* dgain, float* dbias, const ChannelShape& shape,
                            float eps, size_t threads = 1);

// Checked: as above, or kInvalidArgument with the numbers and nothing touched. `workspace_size` counts elements.

Status CheckedRmsNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                              float* dx, size_t dx_stride, float* dgain, size_t rows, size_t cols, float eps,
                              double* workspace, size_t workspace_size, size_t threads = 1);

Status CheckedLayerNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                                float* dx, size_t dx_stride, float* dgain, float* dbias, size_t rows, size_t cols,
                                float eps, double* workspace, size_t workspace_size, size_t threads = 1);

Status CheckedBatchNormTrainBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride,
                                     const float* gain, float* dx, size_t dx_stride, float* dgain, float* dbias,
                                     const ChannelShape& shape, float eps, size_t threads = 1);

}  // namespace prenorm
