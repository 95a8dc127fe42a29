// C interface of the compositions over rows.
#include "prenorm/norm_forms_c.h"

#include "kernels/norm_check.h"
#include "kernels/parallel/norm_c_util.h"
#include "prenorm/norm_forms.h"

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

namespace {

// Calls body(x, out) with the type at hand.
template <class Body>
Status Typed(const char* op, int x_type, const void* x, void* out, const Body& body) {
#define PRENORM_DATA(NAME, X) \
  if (x_type == TypeId<X>()) return body(static_cast<const X*>(x), static_cast<X*>(out));
#include "kernels/variants.inc"
  return UnknownTypes(op, x_type, PRENORM_NORM_F32, x_type);
}

}  // namespace

int prenorm_scale_norm(int x_type, const void* x, size_t x_stride, float g, void* out, size_t out_stride, size_t rows,
                       size_t cols, float eps, size_t threads, char* message, size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    return Typed("ScaleNorm", x_type, x, out, [&](auto* in, auto* to) {
      Status status = CheckNorm("ScaleNorm", in, x_stride, to, out_stride, rows, cols, eps);
      if (status.ok()) ParallelScaleNorm(in, x_stride, g, to, out_stride, rows, cols, eps, threads);
      return status;
    });
  });
}

int prenorm_sandwich_norm(int x_type, const void* x, size_t x_stride, const void* f, size_t f_stride, const float* gain,
                          const float* bias, void* out, size_t out_stride, size_t rows, size_t cols,
                          const prenorm_layer_norm_options* options, size_t threads, char* message,
                          size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "SandwichNorm";
    const Status present = CheckPresent(op, "options", options);
    if (!present.ok()) return present;
    return Typed(op, x_type, x, out, [&](auto* in, auto* to) {
      const auto branch = static_cast<decltype(in)>(f);
      Status status = CheckSandwich(op, in, x_stride, branch, f_stride, to, out_stride, rows, cols, options->eps);
      if (status.ok()) {
        ParallelSandwichNorm(in, x_stride, branch, f_stride, gain, bias, to, out_stride, rows, cols,
                             OptionsOf(*options), threads);
      }
      return status;
    });
  });
}

int prenorm_ada_norm(int x_type, const void* x, size_t x_stride, float scale, float k, void* out, size_t out_stride,
                     size_t rows, size_t cols, const prenorm_layer_norm_options* options, size_t threads, char* message,
                     size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const Status present = CheckPresent("AdaNorm", "options", options);
    if (!present.ok()) return present;
    return Typed("AdaNorm", x_type, x, out, [&](auto* in, auto* to) {
      Status status = CheckNorm("AdaNorm", in, x_stride, to, out_stride, rows, cols, options->eps);
      if (status.ok()) {
        ParallelAdaNorm(in, x_stride, scale, k, to, out_stride, rows, cols, OptionsOf(*options), threads);
      }
      return status;
    });
  });
}

int prenorm_adaptive_layer_norm(int x_type, const void* x, size_t x_stride, const float* gain, const float* bias,
                                size_t rows_per_condition, int one_plus_gain, void* out, size_t out_stride, size_t rows,
                                size_t cols, const prenorm_layer_norm_options* options, size_t threads, char* message,
                                size_t message_size) {
  return Guarded(message, message_size, [&]() -> Status {
    const char* op = "AdaptiveLayerNorm";
    Status ready = CheckPresent(op, "options", options);
    if (ready.ok()) ready = CheckConditions(op, rows_per_condition);
    if (!ready.ok()) return ready;
    return Typed(op, x_type, x, out, [&](auto* in, auto* to) {
      Status status = CheckNorm(op, in, x_stride, to, out_stride, rows, cols, options->eps);
      if (status.ok()) {
        ParallelAdaptiveLayerNorm(in, x_stride, gain, bias, rows_per_condition,
                                  one_plus_gain != 0 ? GainForm::kOnePlusGain : GainForm::kGain, to, out_stride, rows,
                                  cols, OptionsOf(*options), threads);
      }
      return status;
    });
  });
}
