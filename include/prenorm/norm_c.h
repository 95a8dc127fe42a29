/* C interface of the norm layer: checked functions over rows of f32 or bf16. norm_channels_c.h has those over feature
 * maps, norm_forms_c.h the compositions, norm_backward_c.h the gradients, norm_fold_c.h the folding.
 *
 * Every function returns 0, or a status code (see prenorm_norm_status) with a message that names the operator, the
 * operand and the numbers, and then has written nothing. `message` may be null; the text is cut to fit `message_size`.
 * Sizes and strides count elements. Rows are shared among at most `threads` threads (0: the default of OpenMP, 1: the
 * caller alone); the bits of the result do not depend on it. What each function computes, which overlaps it allows and
 * how exact it is stands in norm.h. Reentrant; no exception leaves a function.
 */
#ifndef PRENORM_NORM_C_H_
#define PRENORM_NORM_C_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PRENORM_NORM_API __attribute__((visibility("default")))
#else
#define PRENORM_NORM_API
#endif

typedef enum {
  PRENORM_NORM_OK = 0,
  PRENORM_NORM_INVALID_ARGUMENT = 1,
  PRENORM_NORM_OUT_OF_MEMORY = 2, /* for the text of a message */
  PRENORM_NORM_UNSUPPORTED = 3    /* a fold that would change the result */
} prenorm_norm_status;

/* Element types; the values are the tensor type ids of GGUF. */
typedef enum { PRENORM_NORM_F32 = 0, PRENORM_NORM_BF16 = 30 } prenorm_norm_type;

/* Options as in norm.h; every field 0 but eps is the usual choice. */
typedef struct {
  float eps;
  int eps_outside_root;  /* 1: x / (sqrt(mean square) + eps) */
  int one_plus_gain;     /* 1: the factor is 1 + gain */
  int round_before_gain; /* 1: x / rms is rounded to the type of out before the gain ("llama") */
  int exact_sums;        /* 1: f64 sums of exact squares */
} prenorm_rms_norm_options;

typedef struct {
  float eps;
  int single_pass; /* 1: moments merged in one pass over memory */
} prenorm_layer_norm_options;

/* How a branch f joins the residual stream x. */
typedef enum {
  PRENORM_RESIDUAL_PLAIN = 0,         /* x + f */
  PRENORM_RESIDUAL_SCALED_INPUT = 1,  /* alpha * x + f (DeepNorm) */
  PRENORM_RESIDUAL_SCALED_BRANCH = 2, /* x + alpha * f (SkipInit) */
  PRENORM_RESIDUAL_LAYER_SCALE = 3    /* x + lambda[c] * f (LayerScale) */
} prenorm_residual_form;

typedef struct {
  int form;
  float alpha;
  const float* lambda;    /* [cols], for PRENORM_RESIDUAL_LAYER_SCALE */
  int rounded_statistics; /* 1: the statistics see the sum as it is stored */
} prenorm_residual;

/* out = gain * x / sqrt(mean square + eps); gain may be null. */
PRENORM_NORM_API int prenorm_rms_norm(int x_type, const void* x, size_t x_stride, int gain_type, const void* gain,
                                      int out_type, void* out, size_t out_stride, size_t rows, size_t cols,
                                      const prenorm_rms_norm_options* options, size_t threads, char* message,
                                      size_t message_size);

/* out = gain * (x - mean) / sqrt(variance + eps) + bias; gain and bias have one type, each may be null. */
PRENORM_NORM_API int prenorm_layer_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                                        const void* bias, int out_type, void* out, size_t out_stride, size_t rows,
                                        size_t cols, const prenorm_layer_norm_options* options, size_t threads,
                                        char* message, size_t message_size);

/* sum = x and f (all of x_type) joined as `residual` says, null being x + f; out = RMSNorm of sum. */
PRENORM_NORM_API int prenorm_residual_rms_norm(int x_type, const void* x, size_t x_stride, const void* f,
                                               size_t f_stride, void* sum, size_t sum_stride, int gain_type,
                                               const void* gain, int out_type, void* out, size_t out_stride,
                                               size_t rows, size_t cols, const prenorm_residual* residual,
                                               const prenorm_rms_norm_options* options, size_t threads, char* message,
                                               size_t message_size);

/* The same with LayerNorm of sum. */
PRENORM_NORM_API int prenorm_residual_layer_norm(int x_type, const void* x, size_t x_stride, const void* f,
                                                 size_t f_stride, void* sum, size_t sum_stride, int affine_type,
                                                 const void* gain, const void* bias, int out_type, void* out,
                                                 size_t out_stride, size_t rows, size_t cols,
                                                 const prenorm_residual* residual,
                                                 const prenorm_layer_norm_options* options, size_t threads,
                                                 char* message, size_t message_size);

/* inv_rms[r] = 1 / sqrt(mean square of row r + eps). */
PRENORM_NORM_API int prenorm_inv_rms(int x_type, const void* x, size_t x_stride, float* inv_rms, size_t rows,
                                     size_t cols, const prenorm_rms_norm_options* options, size_t threads,
                                     char* message, size_t message_size);

/* Softmax of f32 rows in place. */
PRENORM_NORM_API int prenorm_softmax(float* x, size_t stride, size_t rows, size_t cols, size_t threads, char* message,
                                     size_t message_size);

/* out[r] = log of the sum of exp over f32 row r. */
PRENORM_NORM_API int prenorm_log_sum_exp(const float* x, size_t stride, float* out, size_t rows, size_t cols,
                                         size_t threads, char* message, size_t message_size);

/* Name of the SIMD target in use, e.g. "AVX2". */
PRENORM_NORM_API const char* prenorm_norm_target(void);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_NORM_C_H_ */
