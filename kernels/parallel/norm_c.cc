// C interface of the norm layer: types at run time to the instances of variants.inc, status to code and message.
#include "prenorm/norm_c.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

#include "kernels/norm_check.h"
#include "prenorm/norm_parallel.h"
#include "prenorm/target.h"

namespace prenorm {
namespace {

template <typename T>
constexpr int TypeId() {
  return std::is_same_v<T, bf16> ? PRENORM_NORM_BF16 : PRENORM_NORM_F32;
}

int Finish(const Status& status, char* message, size_t message_size) {
  if (message != nullptr && message_size != 0) {
    const size_t length = std::min(message_size - 1, status.message().size());
    std::memcpy(message, status.message().data(), length);
    message[length] = '\0';
  }
  return status.ok() ? PRENORM_NORM_OK : PRENORM_NORM_INVALID_ARGUMENT;
}

// Runs body(), which returns a Status. Only the messages allocate.
template <class Body>
int Guarded(char* message, size_t message_size, const Body& body) noexcept {
  try {
    return Finish(body(), message, message_size);
  } catch (const std::bad_alloc&) {
    if (message != nullptr && message_size != 0) message[0] = '\0';
    return PRENORM_NORM_OUT_OF_MEMORY;
  }
}

Status UnknownTypes(const char* op, int x_type, int affine_type, int out_type) {
  return {StatusCode::kInvalidArgument, std::string(op) + ": no variant for types x " + std::to_string(x_type) +
                                            ", gain " + std::to_string(affine_type) + ", out " +
                                            std::to_string(out_type) + "; known are 0 (F32) and 30 (BF16)"};
}

Status NullOptions(const char* op) { return {StatusCode::kInvalidArgument, std::string(op) + ": options is null"}; }

RmsNormOptions OptionsOf(const prenorm_rms_norm_options& options) {
  RmsNormOptions result;
  result.eps = options.eps;
  if (options.eps_outside_root != 0) result.eps_placement = EpsPlacement::kOutsideRoot;
  if (options.one_plus_gain != 0) result.gain_form = GainForm::kOnePlusGain;
  if (options.round_before_gain != 0) result.cast = CastMode::kLlama;
  if (options.exact_sums != 0) result.accumulation = Accumulation::kExact;
  return result;
}

LayerNormOptions OptionsOf(const prenorm_layer_norm_options& options) {
  LayerNormOptions result;
  result.eps = options.eps;
  if (options.single_pass != 0) result.variance = VarianceForm::kSinglePass;
  return result;
}

}  // namespace
}  // namespace prenorm

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

int prenorm_rms_norm(int x_type, const void* x, size_t x_stride, int gain_type, const void* gain, int out_type,
                     void* out, size_t out_stride, size_t rows, size_t cols, const prenorm_rms_norm_options* options,
                     size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    if (options == nullptr) return NullOptions("RmsNorm");
#define PRENORM_NORM(X, GAIN, OUT)                                                                                   \
  if (x_type == TypeId<X>() && gain_type == TypeId<GAIN>() && out_type == TypeId<OUT>()) {                           \
    auto* typed_x = static_cast<const X*>(x);                                                                        \
    auto* typed_out = static_cast<OUT*>(out);                                                                        \
    Status status = CheckNorm("RmsNorm", typed_x, x_stride, typed_out, out_stride, rows, cols, options->eps);        \
    if (status.ok()) {                                                                                               \
      ParallelRmsNorm(typed_x, x_stride, static_cast<const GAIN*>(gain), typed_out, out_stride, rows, cols,          \
                      OptionsOf(*options), threads);                                                                 \
    }                                                                                                                \
    return status;                                                                                                   \
  }
#include "kernels/variants.inc"
    return UnknownTypes("RmsNorm", x_type, gain_type, out_type);
  });
}

int prenorm_layer_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain, const void* bias,
                       int out_type, void* out, size_t out_stride, size_t rows, size_t cols,
                       const prenorm_layer_norm_options* options, size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    if (options == nullptr) return NullOptions("LayerNorm");
#define PRENORM_NORM(X, AFFINE, OUT)                                                                                 \
  if (x_type == TypeId<X>() && affine_type == TypeId<AFFINE>() && out_type == TypeId<OUT>()) {                       \
    auto* typed_x = static_cast<const X*>(x);                                                                        \
    auto* typed_out = static_cast<OUT*>(out);                                                                        \
    Status status = CheckNorm("LayerNorm", typed_x, x_stride, typed_out, out_stride, rows, cols, options->eps);      \
    if (status.ok()) {                                                                                               \
      ParallelLayerNorm(typed_x, x_stride, static_cast<const AFFINE*>(gain), static_cast<const AFFINE*>(bias),       \
                        typed_out, out_stride, rows, cols, OptionsOf(*options), threads);                            \
    }                                                                                                                \
    return status;                                                                                                   \
  }
#include "kernels/variants.inc"
    return UnknownTypes("LayerNorm", x_type, affine_type, out_type);
  });
}

int prenorm_residual_rms_norm(int x_type, const void* x, size_t x_stride, const void* f, size_t f_stride, void* sum,
                              size_t sum_stride, int gain_type, const void* gain, int out_type, void* out,
                              size_t out_stride, size_t rows, size_t cols, const prenorm_rms_norm_options* options,
                              size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    if (options == nullptr) return NullOptions("ResidualRmsNorm");
#define PRENORM_RESIDUAL_NORM(X, GAIN, OUT)                                                                          \
  if (x_type == TypeId<X>() && gain_type == TypeId<GAIN>() && out_type == TypeId<OUT>()) {                           \
    auto* typed_x = static_cast<const X*>(x);                                                                        \
    auto* typed_f = static_cast<const X*>(f);                                                                        \
    auto* typed_sum = static_cast<X*>(sum);                                                                          \
    auto* typed_out = static_cast<OUT*>(out);                                                                        \
    Status status = CheckResidual("ResidualRmsNorm", typed_x, x_stride, typed_f, f_stride, typed_sum, sum_stride,    \
                                  typed_out, out_stride, rows, cols, Residual{}, options->eps);                      \
    if (status.ok()) {                                                                                               \
      ParallelResidualRmsNorm(typed_x, x_stride, typed_f, f_stride, typed_sum, sum_stride,                           \
                              static_cast<const GAIN*>(gain), typed_out, out_stride, rows, cols, Residual{},         \
                              OptionsOf(*options), threads);                                                         \
    }                                                                                                                \
    return status;                                                                                                   \
  }
#include "kernels/variants.inc"
    return UnknownTypes("ResidualRmsNorm", x_type, gain_type, out_type);
  });
}

int prenorm_softmax(float* x, size_t stride, size_t rows, size_t cols, size_t threads, char* message,
                    size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    OperandCheck check("Softmax", rows, cols);
    check.Rows(Block("x", x, stride, rows, cols));
    if (check.status().ok()) ParallelSoftmax(x, stride, rows, cols, threads);
    return check.status();
  });
}

const char* prenorm_norm_target(void) { return ActiveTarget(); }
