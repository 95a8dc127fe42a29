/* C interface of the compositions: ScaleNorm, SandwichNorm, AdaNorm, adaptive LayerNorm, PowerNorm in eval form.
 * Conventions as in norm_c.h; formulas and papers stand in norm_forms.h. x and out are of x_type.
 */
#ifndef PRENORM_NORM_FORMS_C_H_
#define PRENORM_NORM_FORMS_C_H_

#include "prenorm/norm_channels_c.h"

#ifdef __cplusplus
extern "C" {
#endif

PRENORM_NORM_API int prenorm_scale_norm(int x_type, const void* x, size_t x_stride, float g, void* out,
                                        size_t out_stride, size_t rows, size_t cols, float eps, size_t threads,
                                        char* message, size_t message_size);

/* out = x + LayerNorm of f; gain, bias: f32 [cols] or null. */
PRENORM_NORM_API int prenorm_sandwich_norm(int x_type, const void* x, size_t x_stride, const void* f, size_t f_stride,
                                           const float* gain, const float* bias, void* out, size_t out_stride,
                                           size_t rows, size_t cols, const prenorm_layer_norm_options* options,
                                           size_t threads, char* message, size_t message_size);

PRENORM_NORM_API int prenorm_ada_norm(int x_type, const void* x, size_t x_stride, float scale, float k, void* out,
                                      size_t out_stride, size_t rows, size_t cols,
                                      const prenorm_layer_norm_options* options, size_t threads, char* message,
                                      size_t message_size);

/* gain, bias: f32 [conditions, cols] or null, row r taking condition r / rows_per_condition. */
PRENORM_NORM_API int prenorm_adaptive_layer_norm(int x_type, const void* x, size_t x_stride, const float* gain,
                                                 const float* bias, size_t rows_per_condition, int one_plus_gain,
                                                 void* out, size_t out_stride, size_t rows, size_t cols,
                                                 const prenorm_layer_norm_options* options, size_t threads,
                                                 char* message, size_t message_size);

PRENORM_NORM_API int prenorm_power_norm_eval(int x_type, const void* x, size_t x_stride, int affine_type,
                                             const void* gain, const void* bias, const float* running_quadratic_mean,
                                             void* out, size_t out_stride, const prenorm_channel_shape* shape,
                                             float eps, size_t threads, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_NORM_FORMS_C_H_ */
