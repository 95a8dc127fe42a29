// C interface of GroupNorm, InstanceNorm, BatchNorm and PowerNorm: types at run time to the instances of variants.inc.
#include "kernels/channel_check.h"
#include "kernels/parallel/channel_norm_c.h"
#include "kernels/parallel/norm_c_util.h"
#include "prenorm/norm_forms.h"
#include "prenorm/norm_forms_c.h"

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

namespace {

// The operands that all functions have.
struct Map {
  int x_type;
  const void* x;
  size_t x_stride;
  int affine_type;
  const void* gain;
  const void* bias;
  void* out;
  size_t out_stride;
  const prenorm_channel_shape* shape;
  float eps;
};

// Calls run(x, gain, bias, out, shape) with the types of `map` once its operands are checked, or refuses them.
template <class Check, class Run>
Status Typed(const char* op, const Map& map, const Check& check, const Run& run) {
  Status status = CheckPresent(op, "shape", map.shape);
  if (!status.ok()) return status;
  const ChannelShape shape = ShapeOf(*map.shape);
#define PRENORM_CHANNEL_NORM(X, AFFINE)                                                               \
  if (map.x_type == TypeId<X>() && map.affine_type == TypeId<AFFINE>()) {                             \
    auto* x = static_cast<const X*>(map.x);                                                           \
    auto* out = static_cast<X*>(map.out);                                                             \
    status = CheckMap(op, x, map.x_stride, out, map.out_stride, shape, map.eps);                      \
    if (status.ok()) status = check(shape);                                                           \
    if (status.ok()) {                                                                                \
      run(x, static_cast<const AFFINE*>(map.gain), static_cast<const AFFINE*>(map.bias), out, shape); \
    }                                                                                                 \
    return status;                                                                                    \
  }
#include "kernels/variants.inc"
  return UnknownTypes(op, map.x_type, map.affine_type, map.x_type);
}

}  // namespace

int prenorm_group_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain, const void* bias,
                       void* out, size_t out_stride, const prenorm_channel_shape* shape, size_t groups,
                       const prenorm_layer_norm_options* options, size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "GroupNorm";
    const Status status = CheckPresent(op, "options", options);
    if (!status.ok()) return status;
    return Typed(
        op, {x_type, x, x_stride, affine_type, gain, bias, out, out_stride, shape, options->eps},
        [&](const ChannelShape& typed_shape) { return CheckGroups(op, groups, typed_shape.channels); },
        [&](auto* in, auto* g, auto* b, auto* to, const ChannelShape& typed_shape) {
          ParallelGroupNorm(in, x_stride, g, b, to, out_stride, typed_shape, groups, OptionsOf(*options), threads);
        });
  });
}

int prenorm_instance_norm(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                          const void* bias, void* out, size_t out_stride, const prenorm_channel_shape* shape,
                          const prenorm_layer_norm_options* options, size_t threads, char* message,
                          size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "InstanceNorm";
    const Status status = CheckPresent(op, "options", options);
    if (!status.ok()) return status;
    return Typed(
        op, {x_type, x, x_stride, affine_type, gain, bias, out, out_stride, shape, options->eps},
        [](const ChannelShape&) { return Status(); },
        [&](auto* in, auto* g, auto* b, auto* to, const ChannelShape& typed_shape) {
          ParallelInstanceNorm(in, x_stride, g, b, to, out_stride, typed_shape, OptionsOf(*options), threads);
        });
  });
}

int prenorm_batch_norm_train(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                             const void* bias, void* out, size_t out_stride, const prenorm_channel_shape* shape,
                             float* running_mean, float* running_variance,
                             const prenorm_batch_norm_train_options* options, size_t threads, char* message,
                             size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "BatchNormTrain";
    const Status present = CheckPresent(op, "options", options);
    if (!present.ok()) return present;
    const auto check = [&](const ChannelShape& typed_shape) {
      const Status status = CheckRunning(op, running_mean, running_variance, options->momentum);
      return status.ok() ? CheckEnoughValues(op, typed_shape) : status;
    };
    return Typed(op, {x_type, x, x_stride, affine_type, gain, bias, out, out_stride, shape, options->eps}, check,
                 [&](auto* in, auto* g, auto* b, auto* to, const ChannelShape& typed_shape) {
                   ParallelBatchNormTrain(in, x_stride, g, b, to, out_stride, typed_shape, running_mean,
                                          running_variance, {options->eps, options->momentum}, threads);
                 });
  });
}

int prenorm_batch_norm_eval(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                            const void* bias, const float* mean, const float* variance, void* out, size_t out_stride,
                            const prenorm_channel_shape* shape, float eps, size_t threads, char* message,
                            size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "BatchNormEval";
    return Typed(
        op, {x_type, x, x_stride, affine_type, gain, bias, out, out_stride, shape, eps},
        [&](const ChannelShape& typed_shape) { return CheckGivenStatistic(op, "variance", variance, typed_shape); },
        [&](auto* in, auto* g, auto* b, auto* to, const ChannelShape& typed_shape) {
          ParallelBatchNormEval(in, x_stride, g, b, mean, variance, to, out_stride, typed_shape, eps, threads);
        });
  });
}

int prenorm_power_norm_eval(int x_type, const void* x, size_t x_stride, int affine_type, const void* gain,
                            const void* bias, const float* running_quadratic_mean, void* out, size_t out_stride,
                            const prenorm_channel_shape* shape, float eps, size_t threads, char* message,
                            size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "PowerNormEval";
    return Typed(
        op, {x_type, x, x_stride, affine_type, gain, bias, out, out_stride, shape, eps},
        [&](const ChannelShape& typed_shape) {
          return CheckGivenStatistic(op, "running_quadratic_mean", running_quadratic_mean, typed_shape);
        },
        [&](auto* in, auto* g, auto* b, auto* to, const ChannelShape& typed_shape) {
          ParallelPowerNormEval(in, x_stride, g, b, running_quadratic_mean, to, out_stride, typed_shape, eps, threads);
        });
  });
}
