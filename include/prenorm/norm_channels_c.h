/* C interface of GroupNorm, InstanceNorm and BatchNorm over feature maps. Conventions as in norm_c.h; what each
 * function computes stands in norm_channels.h.
 */
#ifndef PRENORM_NORM_CHANNELS_C_H_
#define PRENORM_NORM_CHANNELS_C_H_

#include "prenorm/norm_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  size_t samples;
  size_t channels;
  size_t space;      /* height * width; 1 for [samples, channels] */
  int channels_last; /* 0: [samples, channels, space], strides of samples; 1: [samples, space, channels], of pixels */
} prenorm_channel_shape;

typedef struct {
  float eps;
  float momentum; /* the weight of the new batch; torch's default is 0.1 */
} prenorm_batch_norm_train_options;

/* x and out are of x_type, gain and bias of affine_type: [channels], each may be null. */
PRENORM_NORM_API int prenorm_group_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                                        const void* bias, void* out, size_t out_stride,
                                        const prenorm_channel_shape* shape, size_t groups,
                                        const prenorm_layer_norm_options* options, size_t threads, char* message,
                                        size_t message_size);

PRENORM_NORM_API int prenorm_instance_norm(int x_type, const void* x, size_t x_stride, int affine_type,
                                           const void* gain, const void* bias, void* out, size_t out_stride,
                                           const prenorm_channel_shape* shape,
                                           const prenorm_layer_norm_options* options, size_t threads, char* message,
                                           size_t message_size);

/* With the statistics of this batch; running_mean and running_variance are updated unless both are null. */
PRENORM_NORM_API int prenorm_batch_norm_train(int x_type, const void* x, size_t x_stride, int affine_type,
                                              const void* gain, const void* bias, void* out, size_t out_stride,
                                              const prenorm_channel_shape* shape, float* running_mean,
                                              float* running_variance, const prenorm_batch_norm_train_options* options,
                                              size_t threads, char* message, size_t message_size);

/* With given statistics; mean may be null for zeros. */
PRENORM_NORM_API int prenorm_batch_norm_eval(int x_type, const void* x, size_t x_stride, int affine_type,
                                             const void* gain, const void* bias, const float* mean,
                                             const float* variance, void* out, size_t out_stride,
                                             const prenorm_channel_shape* shape, float eps, size_t threads,
                                             char* message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_NORM_CHANNELS_C_H_ */
