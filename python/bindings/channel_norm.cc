// GroupNorm and BatchNorm of feature maps where they lie. The C functions check the arguments.
#include "prenorm/norm_channels_c.h"

#include <string>

#include "python/bindings/arrays.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

using OptionalInput = std::optional<Input>;
using OptionalOutput = std::optional<Output>;

// A map without gaps: [samples, channels, ...] or [samples, ..., channels].
struct Map {
  int type;
  prenorm_channel_shape shape;
  size_t stride;

  Map(const Input& x, const Output& out, bool channels_last) : type(TypeOf("x", x)), shape{0, 0, 1, channels_last} {
    CheckSameShape("out", out, x);
    if (TypeOf("out", out) != type) Refuse("x, out: expected one type of elements");
    const size_t n = x.ndim();
    if (n < 2) Refuse("x: expected [samples, channels, ...]");
    shape.samples = x.shape(0);
    shape.channels = x.shape(channels_last ? n - 1 : 1);
    for (size_t i = channels_last ? 1 : 2; i < (channels_last ? n - 1 : n); ++i) shape.space *= x.shape(i);
    stride = channels_last ? shape.channels : shape.channels * shape.space;
    CheckPacked("x", x);
    CheckPacked("out", out);
  }

 private:
  template <class Array>
  static void CheckPacked(const char* name, const Array& array) {
    int64_t next = 1;
    for (size_t i = array.ndim(); i-- > 0;) {
      if (array.shape(i) > 1 && array.stride(i) != next) Refuse(std::string(name) + ": expected an array without gaps");
      next *= static_cast<int64_t>(array.shape(i));
    }
  }
};

template <class Array>
auto* FloatRow(const char* name, const std::optional<Array>& array, size_t size) {
  if (array) CheckFloat32(name, *array);
  auto* data = RowData(name, array, size);
  using Float = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(data)>>, const float, float>;
  return static_cast<Float*>(data);
}

void GroupNorm(const Input& x, const Output& out, size_t groups, const OptionalInput& gain, const OptionalInput& bias,
               float eps, bool channels_last, size_t threads) {
  const Map map(x, out, channels_last);
  const Affine affine(gain, bias, map.shape.channels);
  const prenorm_layer_norm_options options = {eps, 0};
  Call([&](char* message, size_t size) {
    return prenorm_group_norm(map.type, x.data(), map.stride, affine.type, affine.gain, affine.bias, out.data(),
                              map.stride, &map.shape, groups, &options, threads, message, size);
  });
}

void BatchNormTrain(const Input& x, const Output& out, const OptionalInput& gain, const OptionalInput& bias,
                    const OptionalOutput& running_mean, const OptionalOutput& running_variance, float eps,
                    float momentum, bool channels_last, size_t threads) {
  const Map map(x, out, channels_last);
  const Affine affine(gain, bias, map.shape.channels);
  const prenorm_batch_norm_train_options options = {eps, momentum};
  float* mean = FloatRow("running_mean", running_mean, map.shape.channels);
  float* variance = FloatRow("running_variance", running_variance, map.shape.channels);
  Call([&](char* message, size_t size) {
    return prenorm_batch_norm_train(map.type, x.data(), map.stride, affine.type, affine.gain, affine.bias, out.data(),
                                    map.stride, &map.shape, mean, variance, &options, threads, message, size);
  });
}

void BatchNormEval(const Input& x, const Output& out, const OptionalInput& mean, const Input& variance,
                   const OptionalInput& gain, const OptionalInput& bias, float eps, bool channels_last,
                   size_t threads) {
  const Map map(x, out, channels_last);
  const Affine affine(gain, bias, map.shape.channels);
  const float* means = FloatRow("mean", mean, map.shape.channels);
  const float* variances = FloatRow("variance", OptionalInput(variance), map.shape.channels);
  Call([&](char* message, size_t size) {
    return prenorm_batch_norm_eval(map.type, x.data(), map.stride, affine.type, affine.gain, affine.bias, means,
                                   variances, out.data(), map.stride, &map.shape, eps, threads, message, size);
  });
}

}  // namespace

void BindChannelNorms(nb::module_& m) {
  const auto x = nb::arg("x").noconvert(), out = nb::arg("out").noconvert();
  const auto gain = nb::arg("gain").none().noconvert(), bias = nb::arg("bias").none().noconvert();
  const nb::arg eps("eps"), channels_last("channels_last"), threads("threads");
  m.def("group_norm", &GroupNorm, x, out, nb::arg("groups"), gain, bias, nb::kw_only(), eps, channels_last, threads);
  m.def("batch_norm_train", &BatchNormTrain, x, out, gain, bias, nb::arg("running_mean").none().noconvert(),
        nb::arg("running_variance").none().noconvert(), nb::kw_only(), eps, nb::arg("momentum"), channels_last,
        threads);
  m.def("batch_norm_eval", &BatchNormEval, x, out, nb::arg("mean").none().noconvert(), nb::arg("variance").noconvert(),
        gain, bias, nb::kw_only(), eps, channels_last, threads);
}

}  // namespace prenorm::python
