// Activations, gated activations, soft cap, sum and scaling of f32 rows (include/prenorm/ops.h).
#include "prenorm/ops.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/activation-inl.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <Gate kAct>
void ActivateRow(const float* x, const float* up, float* out, size_t n) {
  const RowTag df;
  using V = hn::Vec<RowTag>;
  if (up == nullptr) {
    MapRow(
        df, n, out, [df](V v) HWY_ATTR { return Activated<kAct>(df, v); }, x);
  } else {
    MapRow(
        df, n, out, [df](V v, V u) HWY_ATTR { return hn::Mul(Activated<kAct>(df, v), u); }, x, up);
  }
}

// `up` is null for the plain activation.
void Activate(Gate act, const float* x, const float* up, float* out, size_t n) {
  switch (act) {
    case Gate::kSilu:
      return ActivateRow<Gate::kSilu>(x, up, out, n);
    case Gate::kGeluTanh:
      return ActivateRow<Gate::kGeluTanh>(x, up, out, n);
    case Gate::kGeluErf:
      return ActivateRow<Gate::kGeluErf>(x, up, out, n);
    case Gate::kRelu:
      return ActivateRow<Gate::kRelu>(x, up, out, n);
    case Gate::kReluSquared:
      return ActivateRow<Gate::kReluSquared>(x, up, out, n);
  }
}

void SoftCapRow(float* x, size_t n, float cap) {
  const RowTag df;
  const auto cap_vec = hn::Set(df, cap);
  MapRow(
      df, n, x, [&](hn::Vec<RowTag> v) HWY_ATTR { return SoftCapped(df, v, cap_vec); }, x);
}

void AddRow(float* x, const float* y, size_t n) {
  using V = hn::Vec<RowTag>;
  MapRow(
      RowTag(), n, x, [](V a, V b) HWY_ATTR { return hn::Add(a, b); }, x, y);
}

void ScaleRow(float* x, float scale, size_t n) {
  const auto scale_vec = hn::Set(RowTag(), scale);
  MapRow(
      RowTag(), n, x, [&](hn::Vec<RowTag> v) HWY_ATTR { return hn::Mul(v, scale_vec); }, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_EXPORT(Activate);
HWY_EXPORT(SoftCapRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(ScaleRow);
}  // namespace

void Activation(Gate act, const float* x, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(Activate)(act, x, nullptr, out, n);
}

void GatedActivation(Gate act, const float* gate, const float* up, float* out, size_t n) {
  if (n == 0) return;  // `up` may be null then, which would mean something else below.
  HWY_DYNAMIC_DISPATCH(Activate)(act, gate, up, out, n);
}

void SoftCap(float* x, size_t n, float cap) { HWY_DYNAMIC_DISPATCH(SoftCapRow)(x, n, cap); }

void AddInPlace(float* x, const float* y, size_t n) { HWY_DYNAMIC_DISPATCH(AddRow)(x, y, n); }

void ScaleInPlace(float* x, float scale, size_t n) { HWY_DYNAMIC_DISPATCH(ScaleRow)(x, scale, n); }

}  // namespace prenorm
#endif  // HWY_ONCE
