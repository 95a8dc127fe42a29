/* What another implementation of norms exports to be measured beside Prenorm: a shared object with these functions.
 *
 * The adapters are in bench/peers/norms/. They know the peer's API and nothing of Prenorm but this file.
 */
#ifndef PRENORM_TOOLS_NORM_BENCH_NORM_PEER_H_
#define PRENORM_TOOLS_NORM_BENCH_NORM_PEER_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PRENORM_PEER_API __attribute__((visibility("default")))

typedef enum {
  PRENORM_PEER_RMS_NORM = 0,
  PRENORM_PEER_LAYER_NORM = 1,
  PRENORM_PEER_RESIDUAL_RMS_NORM = 2,
  PRENORM_PEER_GROUP_NORM = 3, /* groups == channels: InstanceNorm */
  PRENORM_PEER_BATCH_NORM_TRAIN = 4,
  PRENORM_PEER_RMS_NORM_BACKWARD = 5,
  PRENORM_PEER_LAYER_NORM_BACKWARD = 6,
  PRENORM_PEER_RESIDUAL_LAYER_NORM = 7
} prenorm_peer_op;

typedef struct {
  int op;
  int bf16;          /* type of x, f, sum, out: 0 f32, 1 bf16; everything else is f32 */
  size_t rows, cols; /* contiguous; of a feature map rows are samples and cols is channels * space (NCHW) */
  size_t channels, groups, space;
  size_t threads;
  float eps;
  const void* x;                          /* [rows, cols] */
  const void* f;                          /* [rows, cols]: the residual branch, or dy in a gradient */
  const float *gain, *bias;               /* [cols], of a feature map [channels]; bias is 0 */
  void* sum;                              /* [rows, cols] */
  void* out;                              /* [rows, cols]: result, or dx */
  float *dgain, *dbias;                   /* [cols] */
  float *running_mean, *running_variance; /* [channels] */
} prenorm_peer_case;

/* Name, version and what a reader must know of the comparison: "onednn 3.2.1". The first word names the peer. */
PRENORM_PEER_API const char* prenorm_peer_describe(void);

/* Everything that need not be done again for every call; null if the peer has no such operation. *computed is the
 * operation that it runs instead if it has none that is equal (LayerNorm for RMSNorm), else op. The pointers of the
 * case stay valid until the release. */
PRENORM_PEER_API void* prenorm_peer_prepare(const prenorm_peer_case* which, int* computed);

/* Runs the prepared operation `times` times. */
PRENORM_PEER_API void prenorm_peer_run(void* prepared, size_t times);

PRENORM_PEER_API void prenorm_peer_release(void* prepared);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_TOOLS_NORM_BENCH_NORM_PEER_H_ */
