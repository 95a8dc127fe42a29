// Normalization of rows of arrays where they lie. The C functions check the arguments.
#include <string>

#include "python/bindings/arrays.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

using OptionalInput = std::optional<Input>;

void RmsNorm(const Input& x, const Output& out, const OptionalInput& gain, float eps, bool eps_outside_root,
             bool one_plus_gain, bool round_before_gain, bool exact_sums, size_t threads) {
  CheckSameShape("out", out, x);
  const Rows from = RowsOf("x", x), to = RowsOf("out", out);
  const Affine affine(gain, {}, from.cols);
  const prenorm_rms_norm_options options = {eps, eps_outside_root, one_plus_gain, round_before_gain, exact_sums};
  Call([&](char* message, size_t size) {
    return prenorm_rms_norm(from.type, x.data(), from.stride, affine.type, affine.gain, to.type, out.data(), to.stride,
                            from.rows, from.cols, &options, threads, message, size);
  });
}

void LayerNorm(const Input& x, const Output& out, const OptionalInput& gain, const OptionalInput& bias, float eps,
               bool single_pass, size_t threads) {
  CheckSameShape("out", out, x);
  const Rows from = RowsOf("x", x), to = RowsOf("out", out);
  const Affine affine(gain, bias, from.cols);
  const prenorm_layer_norm_options options = {eps, single_pass};
  Call([&](char* message, size_t size) {
    return prenorm_layer_norm(from.type, x.data(), from.stride, affine.type, affine.gain, affine.bias, to.type,
                              out.data(), to.stride, from.rows, from.cols, &options, threads, message, size);
  });
}

// What both norms with a residual sum have in common.
struct ResidualRows {
  Rows x, f, sum, out;
  prenorm_residual residual;

  ResidualRows(const Input& x_array, const Input& f_array, const Output& sum_array, const Output& out_array,
               const std::string& form, float alpha, const OptionalInput& layer_scale)
      : x(RowsOf("x", x_array)),
        f(RowsOf("f", f_array)),
        sum(RowsOf("sum", sum_array)),
        out(RowsOf("out", out_array)),
        residual{FormOf(form), alpha, nullptr, 0} {
    CheckSameShape("f", f_array, x_array);
    CheckSameShape("sum", sum_array, x_array);
    CheckSameShape("out", out_array, x_array);
    if (f.type != x.type || sum.type != x.type) Refuse("x, f, sum: expected one type of elements");
    if (layer_scale) CheckFloat32("layer_scale", *layer_scale);
    residual.lambda = static_cast<const float*>(RowData("layer_scale", layer_scale, x.cols));
    if ((residual.lambda != nullptr) != (residual.form == PRENORM_RESIDUAL_LAYER_SCALE)) {
      Refuse("layer_scale: expected with form \"layer_scale\" and not else");
    }
  }

 private:
  static int FormOf(const std::string& form) {
    if (form == "plain") return PRENORM_RESIDUAL_PLAIN;
    if (form == "scaled_input") return PRENORM_RESIDUAL_SCALED_INPUT;
    if (form == "scaled_branch") return PRENORM_RESIDUAL_SCALED_BRANCH;
    if (form == "layer_scale") return PRENORM_RESIDUAL_LAYER_SCALE;
    Refuse("form: expected plain, scaled_input, scaled_branch or layer_scale, found " + form);
  }
};

void ResidualRmsNorm(const Input& x, const Input& f, const Output& sum, const Output& out, const OptionalInput& gain,
                     float eps, bool one_plus_gain, const std::string& form, float alpha,
                     const OptionalInput& layer_scale, size_t threads) {
  const ResidualRows rows(x, f, sum, out, form, alpha, layer_scale);
  const Affine affine(gain, {}, rows.x.cols);
  const prenorm_rms_norm_options options = {eps, 0, one_plus_gain, 0, 0};
  Call([&](char* message, size_t size) {
    return prenorm_residual_rms_norm(rows.x.type, x.data(), rows.x.stride, f.data(), rows.f.stride, sum.data(),
                                     rows.sum.stride, affine.type, affine.gain, rows.out.type, out.data(),
                                     rows.out.stride, rows.x.rows, rows.x.cols, &rows.residual, &options, threads,
                                     message, size);
  });
}

void ResidualLayerNorm(const Input& x, const Input& f, const Output& sum, const Output& out, const OptionalInput& gain,
                       const OptionalInput& bias, float eps, const std::string& form, float alpha,
                       const OptionalInput& layer_scale, size_t threads) {
  const ResidualRows rows(x, f, sum, out, form, alpha, layer_scale);
  const Affine affine(gain, bias, rows.x.cols);
  const prenorm_layer_norm_options options = {eps, 0};
  Call([&](char* message, size_t size) {
    return prenorm_residual_layer_norm(rows.x.type, x.data(), rows.x.stride, f.data(), rows.f.stride, sum.data(),
                                       rows.sum.stride, affine.type, affine.gain, affine.bias, rows.out.type,
                                       out.data(), rows.out.stride, rows.x.rows, rows.x.cols, &rows.residual, &options,
                                       threads, message, size);
  });
}

void Softmax(const Output& x, size_t threads) {
  CheckFloat32("x", x);
  const Rows rows = RowsOf("x", x);
  Call([&](char* message, size_t size) {
    return prenorm_softmax(static_cast<float*>(x.data()), rows.stride, rows.rows, rows.cols, threads, message, size);
  });
}

// One number a row: of a C function that takes x, its stride, the numbers, rows, columns.
template <class Function>
void Reduce(const Input& x, const Output& out, const Function& function) {
  const Rows rows = RowsOf("x", x);
  CheckFloat32("out", out);
  bool same = out.ndim() + 1 == x.ndim();
  int64_t next = 1;
  for (size_t i = out.ndim(); same && i-- > 0;) {
    same = out.shape(i) == x.shape(i) && (out.shape(i) == 1 || out.stride(i) == next);
    next *= static_cast<int64_t>(out.shape(i));
  }
  if (!same) Refuse("out: expected the shape of x without its last axis, and no gaps");
  Call([&](char* message, size_t size) { return function(rows, static_cast<float*>(out.data()), message, size); });
}

void LogSumExp(const Input& x, const Output& out, size_t threads) {
  CheckFloat32("x", x);
  Reduce(x, out, [&](const Rows& rows, float* to, char* message, size_t size) {
    return prenorm_log_sum_exp(static_cast<const float*>(x.data()), rows.stride, to, rows.rows, rows.cols, threads,
                               message, size);
  });
}

void InvRms(const Input& x, const Output& out, float eps, bool eps_outside_root, bool exact_sums, size_t threads) {
  const prenorm_rms_norm_options options = {eps, eps_outside_root, 0, 0, exact_sums};
  Reduce(x, out, [&](const Rows& rows, float* to, char* message, size_t size) {
    return prenorm_inv_rms(rows.type, x.data(), rows.stride, to, rows.rows, rows.cols, &options, threads, message,
                           size);
  });
}

}  // namespace

void BindNorm(nb::module_& m) {
  const auto x = nb::arg("x").noconvert(), out = nb::arg("out").noconvert(), f = nb::arg("f").noconvert();
  const auto sum = nb::arg("sum").noconvert();
  const auto gain = nb::arg("gain").none().noconvert(), bias = nb::arg("bias").none().noconvert();
  const auto layer_scale = nb::arg("layer_scale").none().noconvert();
  const nb::arg eps("eps"), threads("threads");
  m.def("rms_norm", &RmsNorm, x, out, gain, nb::kw_only(), eps, nb::arg("eps_outside_root"), nb::arg("one_plus_gain"),
        nb::arg("round_before_gain"), nb::arg("exact_sums"), threads);
  m.def("layer_norm", &LayerNorm, x, out, gain, bias, nb::kw_only(), eps, nb::arg("single_pass"), threads);
  m.def("residual_rms_norm", &ResidualRmsNorm, x, f, sum, out, gain, nb::kw_only(), eps, nb::arg("one_plus_gain"),
        nb::arg("form"), nb::arg("alpha"), layer_scale, threads);
  m.def("residual_layer_norm", &ResidualLayerNorm, x, f, sum, out, gain, bias, nb::kw_only(), eps, nb::arg("form"),
        nb::arg("alpha"), layer_scale, threads);
  m.def("softmax", &Softmax, x, nb::kw_only(), threads);
  m.def("log_sum_exp", &LogSumExp, x, out, nb::kw_only(), threads);
  m.def("inv_rms", &InvRms, x, out, nb::kw_only(), eps, nb::arg("eps_outside_root"), nb::arg("exact_sums"), threads);
  BindChannelNorms(m);
}

}  // namespace prenorm::python
