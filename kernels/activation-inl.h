// Activation functions and the soft cap on f32 vectors.

#include "prenorm/ops.h"

#if defined(PRENORM_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_ACTIVATION_INL_H_
#undef PRENORM_KERNELS_ACTIVATION_INL_H_
#else
#define PRENORM_KERNELS_ACTIVATION_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x / (1 + e^-v) for v with the sign of x. e^-|v| never overflows, and the left tail keeps its relative accuracy.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesSigmoid(D df, V x, V v) {
  const V one = hn::Set(df, 1.0f);
  const V e = FastExp(df, hn::Neg(hn::Abs(v)));
  // -Inf * 0 would be NaN where the limit is -0.
  const V low = hn::Set(df, -hwy::HighestValue<float>());
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  const V numerator = hn::IfThenElse(hn::Lt(v, hn::Zero(df)), hn::Mul(x, e), x);
  return hn::Div(numerator, hn::Add(one, e));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D df, V x) {
  return TimesSigmoid(df, x, x);
}

// (1 + tanh u) / 2 = 1 / (1 + e^-2u): no cancellation for negative x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D df, V x) {
  const V linear = hn::Set(df, 1.5957691216057308f);  // 2 sqrt(2 / pi)
  const V cubic = hn::Set(df, 0.071354816272600f);    // 0.044715 times that
  return TimesSigmoid(df, x, hn::Mul(x, hn::MulAdd(cubic, hn::Mul(x, x), linear)));
}

// x Phi(x). Phi(-a) = e^(-a^2/2) R(a) for a >= 0, where R, the Mills ratio over sqrt(2 pi), is s P(s), s = 1 / (1 +
// a/4), with P the minimax polynomial of degree 9 (relative error 9e-9 for a <= 14.5; beyond, the result underflows).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluErf(D df, V x) {
  const V one = hn::Set(df, 1.0f);
  const V limit = hn::Set(df, 16.0f);
  V a = hn::Abs(x);
  a = hn::IfThenElse(hn::Gt(a, limit), limit, a);
  const V s = hn::Div(one, hn::MulAdd(a, hn::Set(df, 0.25f), one));
  V p = hn::Set(df, 0x1.14c3f4p-6f);
  p = hn::MulAdd(p, s, hn::Set(df, -0x1.085836p-4f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.c9c41ap-5f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.72742ap-6f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.229162p-6f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.577450p-4f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.2b0f7ep-4f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.864c8ep-4f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.97a3d0p-4f));
  p = hn::MulAdd(p, s, hn::Set(df, 0x1.988f9cp-4f));
  // The rounding of a^2, up to 4e-6 of the result in the tail, is taken back (without FMA it stays).
  const V square = hn::Mul(a, a);
  const V lost = hn::MulSub(a, a, square);
  const V half = hn::Set(df, 0.5f);
  V e = FastExp(df, hn::Neg(hn::Mul(square, half)));
  e = hn::NegMulAdd(e, hn::Mul(lost, half), e);
  const V left = hn::Mul(e, hn::Mul(s, p));
  const V low = hn::Set(df, -hwy::HighestValue<float>());
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(df)), left, hn::Sub(one, left)));
}

// cap tanh(x / cap): an odd polynomial (relative error 5e-9) while |x / cap| < 5/8, from e^x beyond.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SoftCapped(D df, V x, V cap) {
  const V one = hn::Set(df, 1.0f);
  const V two = hn::Set(df, 2.0f);
  const V y = hn::Div(x, cap);
  const V t = hn::Abs(y);
  const V z = hn::Mul(t, t);
  V p = hn::Set(df, -0x1.723280p-8f);
  p = hn::MulAdd(p, z, hn::Set(df, 0x1.5159f0p-6f));
  p = hn::MulAdd(p, z, hn::Set(df, -0x1.b81e1cp-5f));
  p = hn::MulAdd(p, z, hn::Set(df, 0x1.11064ap-3f));
  p = hn::MulAdd(p, z, hn::Set(df, -0x1.55552ep-2f));
  const V small = hn::MulAdd(hn::Mul(p, z), t, t);
  const V large = hn::Sub(one, hn::Div(two, hn::Add(FastExp(df, hn::Add(t, t)), one)));
  const V tanh = hn::IfThenElse(hn::Lt(t, hn::Set(df, 0.625f)), small, large);
  return hn::Mul(cap, hn::CopySign(tanh, y));
}

// act(x) for a constant `kAct`.
template <Gate kAct, class D, class V = hn::Vec<D>>
HWY_INLINE V Activated(D df, V x) {
  if constexpr (kAct == Gate::kSilu) {
    return Silu(df, x);
  } else if constexpr (kAct == Gate::kGeluTanh) {
    return GeluTanh(df, x);
  } else if constexpr (kAct == Gate::kGeluErf) {
    return GeluErf(df, x);
  } else {
    // Compare and select: Max may lose a NaN.
    const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(df)), hn::Zero(df), x);
    return kAct == Gate::kRelu ? positive : hn::Mul(positive, positive);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_ACTIVATION_INL_H_
