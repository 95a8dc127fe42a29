// What the C interfaces of the norm layer share: types at run time, options, status to code and message.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

#include "prenorm/norm.h"
#include "prenorm/norm_c.h"
#include "prenorm/status.h"

namespace prenorm {

template <typename T>
constexpr int TypeId() {
  return std::is_same_v<T, bf16> ? PRENORM_NORM_BF16 : PRENORM_NORM_F32;
}

inline int CodeOf(const Status& status) {
  if (status.ok()) return PRENORM_NORM_OK;
  return status.code() == StatusCode::kUnsupported ? PRENORM_NORM_UNSUPPORTED : PRENORM_NORM_INVALID_ARGUMENT;
}

// Runs body(), which returns a Status, and hands out its message. Only the messages allocate.
template <class Body>
int Guarded(char* message, size_t message_size, const Body& body) noexcept {
  try {
    const Status status = body();
    if (message != nullptr && message_size != 0) {
      const size_t length = std::min(message_size - 1, status.message().size());
      std::memcpy(message, status.message().data(), length);
      message[length] = '\0';
    }
    return CodeOf(status);
  } catch (const std::bad_alloc&) {
    if (message != nullptr && message_size != 0) message[0] = '\0';
    return PRENORM_NORM_OUT_OF_MEMORY;
  }
}

inline Status UnknownTypes(const char* op, int x_type, int affine_type, int out_type) {
  return {StatusCode::kInvalidArgument, std::string(op) + ": no variant for types x " + std::to_string(x_type) +
                                            ", gain " + std::to_string(affine_type) + ", out " +
                                            std::to_string(out_type) + "; known are 0 (F32) and 30 (BF16)"};
}

// OK if `pointer` is not null.
inline Status CheckPresent(const char* op, const char* name, const void* pointer) {
  if (pointer != nullptr) return {};
  return {StatusCode::kInvalidArgument, std::string(op) + ": " + name + " is null"};
}

inline RmsNormOptions OptionsOf(const prenorm_rms_norm_options& options) {
  RmsNormOptions result;
  result.eps = options.eps;
  if (options.eps_outside_root != 0) result.eps_placement = EpsPlacement::kOutsideRoot;
  if (options.one_plus_gain != 0) result.gain_form = GainForm::kOnePlusGain;
  if (options.round_before_gain != 0) result.cast = CastMode::kLlama;
  if (options.exact_sums != 0) result.accumulation = Accumulation::kExact;
  return result;
}

inline LayerNormOptions OptionsOf(const prenorm_layer_norm_options& options) {
  LayerNormOptions result;
  result.eps = options.eps;
  if (options.single_pass != 0) result.variance = VarianceForm::kSinglePass;
  return result;
}

}  // namespace prenorm
