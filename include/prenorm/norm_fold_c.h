/* C interface of folding norms and residual scales into f32 weights, in place. Conventions as in norm_c.h; what folds,
 * and why some folds are refused (PRENORM_NORM_UNSUPPORTED), stands in norm_fold.h.
 */
#ifndef PRENORM_NORM_FOLD_C_H_
#define PRENORM_NORM_FOLD_C_H_

#include "prenorm/norm_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* weight: [out_channels, in_channels / groups, taps]; bias: [out_channels] or null. */
typedef struct {
  float* weight;
  float* bias;
  size_t out_channels;
  size_t in_channels;
  size_t taps;     /* kernel height * width, 1 for a linear map */
  size_t groups;   /* 1 but for a grouped convolution */
  int zero_padded; /* 1: the convolution pads its input with zeros */
} prenorm_linear_map;

/* BatchNorm in eval form; gain and bias may be null. */
typedef struct {
  const float* gain;
  const float* bias;
  const float* mean;
  const float* variance;
  size_t channels;
  float eps;
} prenorm_frozen_batch_norm;

/* map becomes norm(map(x)). */
PRENORM_NORM_API int prenorm_fold_into_preceding(const prenorm_frozen_batch_norm* norm, prenorm_linear_map* map,
                                                 char* message, size_t message_size);

/* Each of `count` maps becomes map(norm(x)); give every consumer. */
PRENORM_NORM_API int prenorm_fold_into_following(const prenorm_frozen_batch_norm* norm, prenorm_linear_map* maps,
                                                 size_t count, char* message, size_t message_size);

/* Each of `count` maps becomes map(gain * x + norm_bias); gain, norm_bias: [channels], each may be null. */
PRENORM_NORM_API int prenorm_fold_affine_into_following(const float* gain, const float* norm_bias, size_t channels,
                                                        int one_plus_gain, prenorm_linear_map* maps, size_t count,
                                                        char* message, size_t message_size);

/* map becomes lambda[o] * map(x), lambda: [channels] (LayerScale). */
PRENORM_NORM_API int prenorm_fold_layer_scale(const float* lambda, size_t channels, prenorm_linear_map* map,
                                              char* message, size_t message_size);

/* map becomes alpha * map(x) (SkipInit). */
PRENORM_NORM_API int prenorm_fold_scale(float alpha, prenorm_linear_map* map, char* message, size_t message_size);

/* map becomes map(x) less its mean over output channels. */
PRENORM_NORM_API int prenorm_centre_outputs(prenorm_linear_map* map, char* message, size_t message_size);

/* Scaled weight standardization of each filter; gain: [out_channels] or null. */
PRENORM_NORM_API int prenorm_standardize_weights(const float* gain, float eps, prenorm_linear_map* map, char* message,
                                                 size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_NORM_FOLD_C_H_ */
