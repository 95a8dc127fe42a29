// Activations, gated activations, soft cap, sum and scaling of f32 rows (include/prenorm/ops.h).
#include "prenorm/ops.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = f(x[i], y[i]). The tail runs the same vector operations, so an element's bits do not depend on its place.
template <class F>
HWY_INLINE void Map2(const float* x, const float* y, float* out, size_t n, F f) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + N <= n; i += N) hn::StoreU(f(df, hn::LoadU(df, x + i), hn::LoadU(df, y + i)), df, out + i);
  const size_t remaining = n - i;
  if (remaining == 0) return;
  hn::StoreN(f(df, hn::LoadN(df, x + i, remaining), hn::LoadN(df, y + i, remaining)), df, out + i, remaining);
}

// out[i] = f(x[i]).
template <class F>
HWY_INLINE void Map(const float* x, float* out, size_t n, F f) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + N <= n; i += N) hn::StoreU(f(df, hn::LoadU(df, x + i)), df, out + i);
  const size_t remaining = n - i;
  if (remaining == 0) return;
  hn::StoreN(f(df, hn::LoadN(df, x + i, remaining)), df, out + i, remaining);
}

template <Gate kAct>
void ActivateRow(const float* x, const float* up, float* out, size_t n) {
  if (up == nullptr) {
    Map(x, out, n, [](auto df, auto v) HWY_ATTR { return Activated<kAct>(df, v); });
  } else {
    Map2(x, up, out, n, [](auto df, auto v, auto u) HWY_ATTR { return hn::Mul(Activated<kAct>(df, v), u); });
  }
}

// `up` is null for the plain activation.
void Activate(Gate act, const float* x, const float* up, float* out, size_t n) {
  switch (act) {
    case Gate::kSilu: return ActivateRow<Gate::kSilu>(x, up, out, n);
    case Gate::kGeluTanh: return ActivateRow<Gate::kGeluTanh>(x, up, out, n);
    case Gate::kGeluErf: return ActivateRow<Gate::kGeluErf>(x, up, out, n);
    case Gate::kRelu: return ActivateRow<Gate::kRelu>(x, up, out, n);
    case Gate::kReluSquared: return ActivateRow<Gate::kReluSquared>(x, up, out, n);
  }
}

void SoftCapRow(float* x, size_t n, float cap) {
  Map(x, x, n, [cap](auto df, auto v) HWY_ATTR { return SoftCapped(df, v, hn::Set(df, cap)); });
}

void AddRow(float* x, const float* y, size_t n) {
  Map2(x, y, x, n, [](auto, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

void ScaleRow(float* x, float scale, size_t n) {
  Map(x, x, n, [scale](auto df, auto v) HWY_ATTR { return hn::Mul(v, hn::Set(df, scale)); });
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
