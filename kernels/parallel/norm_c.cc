// C interface of the norms of rows: types at run time to the instances of variants.inc.
#include "prenorm/norm_c.h"

#include "kernels/norm_check.h"
#include "kernels/parallel/norm_c_util.h"
#include "prenorm/norm_parallel.h"
#include "prenorm/target.h"

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

namespace {

Status ResidualOf(const char* op, const prenorm_residual* residual, Residual* result) {
  if (residual == nullptr) return {};
  if (residual->form < PRENORM_RESIDUAL_PLAIN || residual->form > PRENORM_RESIDUAL_LAYER_SCALE) {
    return {StatusCode::kInvalidArgument,
            std::string(op) + ": residual form is " + std::to_string(residual->form) + ", expected 0 to 3"};
  }
  result->form = static_cast<ResidualForm>(residual->form);
  result->alpha = residual->alpha;
  result->lambda = residual->lambda;
  if (residual->rounded_statistics != 0) result->statistics = ResidualStatistics::kRoundedSum;
  return {};
}

// What both norms of a residual sum take.
struct ResidualOperands {
  int x_type;
  const void* x;
  size_t x_stride;
  const void* f;
  size_t f_stride;
  void* sum;
  size_t sum_stride;
  int affine_type;
  int out_type;
  void* out;
  size_t out_stride;
  size_t rows;
  size_t cols;
};

// Checks the operands and calls run(x, f, sum, affine, out, residual) with pointers of their types; of `affine`, which
// is null, only the type counts.
template <class Run>
Status RunResidual(const char* op, const ResidualOperands& o, const prenorm_residual* residual, float eps,
                   const Run& run) {
  Residual form;
  Status status = ResidualOf(op, residual, &form);
  if (!status.ok()) return status;
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT)                                                                      \
  if (o.x_type == TypeId<X>() && o.affine_type == TypeId<AFFINE>() && o.out_type == TypeId<OUT>()) {               \
    auto* x = static_cast<const X*>(o.x);                                                                          \
    auto* f = static_cast<const X*>(o.f);                                                                          \
    auto* sum = static_cast<X*>(o.sum);                                                                            \
    auto* out = static_cast<OUT*>(o.out);                                                                          \
    status = CheckResidual(op, x, o.x_stride, f, o.f_stride, sum, o.sum_stride, out, o.out_stride, o.rows, o.cols, \
                           form, eps);                                                                             \
    if (status.ok()) run(x, f, sum, static_cast<const AFFINE*>(nullptr), out, form);                               \
    return status;                                                                                                 \
  }
#include "kernels/variants.inc"
  return UnknownTypes(op, o.x_type, o.affine_type, o.out_type);
}

}  // namespace

int prenorm_rms_norm(int x_type, const void* x, size_t x_stride, int gain_type, const void* gain, int out_type,
                     void* out, size_t out_stride, size_t rows, size_t cols, const prenorm_rms_norm_options* options,
                     size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    Status status = CheckPresent("RmsNorm", "options", options);
    if (!status.ok()) return status;
#define PRENORM_NORM(X, GAIN, OUT)                                                                          \
  if (x_type == TypeId<X>() && gain_type == TypeId<GAIN>() && out_type == TypeId<OUT>()) {                  \
    auto* typed_x = static_cast<const X*>(x);                                                               \
    auto* typed_out = static_cast<OUT*>(out);                                                               \
    status = CheckNorm("RmsNorm", typed_x, x_stride, typed_out, out_stride, rows, cols, options->eps);      \
    if (status.ok()) {                                                                                      \
      ParallelRmsNorm(typed_x, x_stride, static_cast<const GAIN*>(gain), typed_out, out_stride, rows, cols, \
                      OptionsOf(*options), threads);                                                        \
    }                                                                                                       \
    return status;                                                                                          \
  }
#include "kernels/variants.inc"
    return UnknownTypes("RmsNorm", x_type, gain_type, out_type);
  });
}

int prenorm_layer_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain, const void* bias,
                       int out_type, void* out, size_t out_stride, size_t rows, size_t cols,
                       const prenorm_layer_norm_options* options, size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    Status status = CheckPresent("LayerNorm", "options", options);
    if (!status.ok()) return status;
#define PRENORM_NORM(X, AFFINE, OUT)                                                                           \
  if (x_type == TypeId<X>() && affine_type == TypeId<AFFINE>() && out_type == TypeId<OUT>()) {                 \
    auto* typed_x = static_cast<const X*>(x);                                                                  \
    auto* typed_out = static_cast<OUT*>(out);                                                                  \
    status = CheckNorm("LayerNorm", typed_x, x_stride, typed_out, out_stride, rows, cols, options->eps);       \
    if (status.ok()) {                                                                                         \
      ParallelLayerNorm(typed_x, x_stride, static_cast<const AFFINE*>(gain), static_cast<const AFFINE*>(bias), \
                        typed_out, out_stride, rows, cols, OptionsOf(*options), threads);                      \
    }                                                                                                          \
    return status;                                                                                             \
  }
#include "kernels/variants.inc"
    return UnknownTypes("LayerNorm", x_type, affine_type, out_type);
  });
}

int prenorm_residual_rms_norm(int x_type, const void* x, size_t x_stride, const void* f, size_t f_stride, void* sum,
                              size_t sum_stride, int gain_type, const void* gain, int out_type, void* out,
                              size_t out_stride, size_t rows, size_t cols, const prenorm_residual* residual,
                              const prenorm_rms_norm_options* options, size_t threads, char* message,
                              size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "ResidualRmsNorm";
    if (Status status = CheckPresent(op, "options", options); !status.ok()) return status;
    const auto run = [&](auto* typed_x, auto* typed_f, auto* typed_sum, auto* affine, auto* typed_out,
                         const Residual& form) {
      ParallelResidualRmsNorm(typed_x, x_stride, typed_f, f_stride, typed_sum, sum_stride,
                              static_cast<decltype(affine)>(gain), typed_out, out_stride, rows, cols, form,
                              OptionsOf(*options), threads);
    };
    return RunResidual(
        op, {x_type, x, x_stride, f, f_stride, sum, sum_stride, gain_type, out_type, out, out_stride, rows, cols},
        residual, options->eps, run);
  });
}

int prenorm_residual_layer_norm(int x_type, const void* x, size_t x_stride, const void* f, size_t f_stride, void* sum,
                                size_t sum_stride, int affine_type, const void* gain, const void* bias, int out_type,
                                void* out, size_t out_stride, size_t rows, size_t cols,
                                const prenorm_residual* residual, const prenorm_layer_norm_options* options,
                                size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "ResidualLayerNorm";
    if (Status status = CheckPresent(op, "options", options); !status.ok()) return status;
    const auto run = [&](auto* typed_x, auto* typed_f, auto* typed_sum, auto* affine, auto* typed_out,
                         const Residual& form) {
      using Affine = decltype(affine);
      ParallelResidualLayerNorm(typed_x, x_stride, typed_f, f_stride, typed_sum, sum_stride, static_cast<Affine>(gain),
                                static_cast<Affine>(bias), typed_out, out_stride, rows, cols, form, OptionsOf(*options),
                                threads);
    };
    return RunResidual(
        op, {x_type, x, x_stride, f, f_stride, sum, sum_stride, affine_type, out_type, out, out_stride, rows, cols},
        residual, options->eps, run);
  });
}

int prenorm_inv_rms(int x_type, const void* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols,
                    const prenorm_rms_norm_options* options, size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    Status status = CheckPresent("InvRms", "options", options);
    if (!status.ok()) return status;
    const auto run = [&](const auto* typed_x) {
      status = CheckOnePerRow("InvRms", typed_x, x_stride, inv_rms, "inv_rms", rows, cols, options->eps);
      if (status.ok()) ParallelInvRms(typed_x, x_stride, inv_rms, rows, cols, OptionsOf(*options), threads);
      return status;
    };
    if (x_type == PRENORM_NORM_F32) return run(static_cast<const float*>(x));
    if (x_type == PRENORM_NORM_BF16) return run(static_cast<const bf16*>(x));
    return UnknownTypes("InvRms", x_type, PRENORM_NORM_F32, PRENORM_NORM_F32);
  });
}

int prenorm_softmax(float* x, size_t stride, size_t rows, size_t cols, size_t threads, char* message,
                    size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    Status status = CheckSoftmax(x, stride, rows, cols);
    if (status.ok()) ParallelSoftmax(x, stride, rows, cols, threads);
    return status;
  });
}

int prenorm_log_sum_exp(const float* x, size_t stride, float* out, size_t rows, size_t cols, size_t threads,
                        char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    Status status = CheckOnePerRow("LogSumExp", x, stride, out, "out", rows, cols, 0.0f);
    if (status.ok()) ParallelLogSumExp(x, stride, out, rows, cols, threads);
    return status;
  });
}

const char* prenorm_norm_target(void) { return ActiveTarget(); }
