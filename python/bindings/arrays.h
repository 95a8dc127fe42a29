// Arrays of NumPy, or of anything that speaks DLPack, as the C functions of the norm layer take them: where they lie.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>

#include "prenorm/norm_c.h"
#include "python/bindings/bindings.h"

namespace prenorm::python {

using Input = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using Output = nanobind::ndarray<nanobind::device::cpu>;

[[noreturn]] inline void Refuse(const std::string& message) {
  throw StatusError(StatusCode::kInvalidArgument, message);
}

/// PRENORM_NORM_F32 or PRENORM_NORM_BF16. norm.py hands over bfloat16 of NumPy's extensions as uint16, because neither
/// DLPack nor the buffer protocol takes them from NumPy, and nothing else as uint16.
template <class Array>
int TypeOf(const char* name, const Array& array) {
  const nanobind::dlpack::dtype type = array.dtype();
  if (type == nanobind::dtype<float>()) return PRENORM_NORM_F32;
  const auto bfloat = static_cast<uint8_t>(nanobind::dlpack::dtype_code::Bfloat);
  if (type.bits == 16 && type.lanes == 1 && type.code == bfloat) return PRENORM_NORM_BF16;
  if (type == nanobind::dtype<uint16_t>()) return PRENORM_NORM_BF16;
  Refuse(std::string(name) + ": expected elements of float32 or bfloat16");
}

template <class Array>
void CheckFloat32(const char* name, const Array& array) {
  if (TypeOf(name, array) != PRENORM_NORM_F32) Refuse(std::string(name) + ": expected elements of float32");
}

/// An array as rows: the last axis contiguous, the others one after another at one stride.
struct Rows {
  int type;
  size_t rows;
  size_t cols;
  size_t stride;  ///< In elements.
};

template <class Array>
Rows RowsOf(const char* name, const Array& array) {
  const size_t n = array.ndim();
  if (n == 0) Refuse(std::string(name) + ": expected rows, found a scalar");
  Rows r{TypeOf(name, array), 1, array.shape(n - 1), array.shape(n - 1)};
  for (size_t i = 0; i + 1 < n; ++i) r.rows *= array.shape(i);
  if (r.rows == 0) return r;
  if (r.cols > 1 && array.stride(n - 1) != 1)
    Refuse(std::string(name) + ": expected rows without gaps between elements");
  // The innermost axis of more than one row gives the stride; the axes outside must continue it.
  int64_t next = 0;
  for (size_t i = n - 1; i-- > 0;) {
    if (array.shape(i) == 1) continue;
    if (next == 0) {
      if (array.stride(i) < static_cast<int64_t>(r.cols))
        Refuse(std::string(name) + ": expected rows that do not overlap");
      next = array.stride(i);
      r.stride = static_cast<size_t>(next);
    } else if (array.stride(i) != next) {
      Refuse(std::string(name) + ": expected rows one after another at one stride");
    }
    next *= static_cast<int64_t>(array.shape(i));
  }
  return r;
}

template <class A, class B>
void CheckSameShape(const char* name, const A& a, const B& x) {
  bool same = x.ndim() == a.ndim();
  for (size_t i = 0; same && i < x.ndim(); ++i) same = x.shape(i) == a.shape(i);
  if (!same) Refuse(std::string(name) + ": expected the shape of x");
}

/// The data of a contiguous row of `size` elements, or null.
template <class Array>
auto* RowData(const char* name, const std::optional<Array>& array, size_t size) {
  using Pointer = decltype(array->data());
  if (!array) return Pointer(nullptr);
  if (array->ndim() != 1 || array->shape(0) != size || (size > 1 && array->stride(0) != 1)) {
    Refuse(std::string(name) + ": expected a row of " + std::to_string(size) + " elements without gaps");
  }
  return array->data();
}

/// Gain and bias, which have one type.
struct Affine {
  int type = PRENORM_NORM_F32;
  const void* gain = nullptr;
  const void* bias = nullptr;

  Affine(const std::optional<Input>& gain_row, const std::optional<Input>& bias_row, size_t size)
      : gain(RowData("gain", gain_row, size)), bias(RowData("bias", bias_row, size)) {
    if (bias_row) type = TypeOf("bias", *bias_row);
    if (!gain_row) return;
    const int gain_type = TypeOf("gain", *gain_row);
    if (bias_row && type != gain_type) Refuse("gain, bias: expected one type of elements");
    type = gain_type;
  }
};

/// Calls a C function without the GIL and throws what it says.
template <class Function>
void Call(const Function& function) {
  char message[512] = "";
  int status = 0;
  {
    const nanobind::gil_scoped_release no_gil;
    status = function(message, sizeof(message));
  }
  if (status == PRENORM_NORM_OUT_OF_MEMORY) throw StatusError(StatusCode::kOutOfMemory, message);
  if (status != PRENORM_NORM_OK) Refuse(message);
}

/// GroupNorm and its kin, bound by BindNorm.
void BindChannelNorms(nanobind::module_& module);

}  // namespace prenorm::python
