/* C interface of the gradients, all in f32. Conventions as in norm_c.h; formulas and bounds stand in norm_backward.h.
 */
#ifndef PRENORM_NORM_BACKWARD_C_H_
#define PRENORM_NORM_BACKWARD_C_H_

#include "prenorm/norm_channels_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of f64 that the two functions over rows need as workspace where a gradient of gain or bias is asked for. */
PRENORM_NORM_API size_t prenorm_backward_workspace_size(size_t rows, size_t cols);

/* gain, dgain: [cols], each may be null. */
PRENORM_NORM_API int prenorm_rms_norm_backward(const float* x, size_t x_stride, const float* dy, size_t dy_stride,
                                               const float* gain, float* dx, size_t dx_stride, float* dgain,
                                               size_t rows, size_t cols, float eps, double* workspace,
                                               size_t workspace_size, size_t threads, char* message,
                                               size_t message_size);

/* gain, dgain, dbias: [cols], each may be null. */
PRENORM_NORM_API int prenorm_layer_norm_backward(const float* x, size_t x_stride, const float* dy, size_t dy_stride,
                                                 const float* gain, float* dx, size_t dx_stride, float* dgain,
                                                 float* dbias, size_t rows, size_t cols, float eps, double* workspace,
                                                 size_t workspace_size, size_t threads, char* message,
                                                 size_t message_size);

/* gain, dgain, dbias: [channels], each may be null. */
PRENORM_NORM_API int prenorm_batch_norm_train_backward(const float* x, size_t x_stride, const float* dy,
                                                       size_t dy_stride, const float* gain, float* dx, size_t dx_stride,
                                                       float* dgain, float* dbias, const prenorm_channel_shape* shape,
                                                       float eps, size_t threads, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_NORM_BACKWARD_C_H_ */
