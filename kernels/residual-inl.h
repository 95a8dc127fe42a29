// The residual sum as a source: reading it forms the sum and, where asked for, writes it.
// The three scaled forms are one: a + scale * b, where DeepNorm scales the input and the others the branch.

#include "prenorm/norm.h"

#if defined(PRENORM_KERNELS_RESIDUAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RESIDUAL_INL_H_
#undef PRENORM_KERNELS_RESIDUAL_INL_H_
#else
#define PRENORM_KERNELS_RESIDUAL_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scale: Broadcast or const float*.
template <typename X, class Scale>
struct ResidualSource {
  const X* a;
  const X* b;
  Scale scale;
  X* sum;              // null: only read.
  const X* round_as;   // not null: what is read is the sum as the type of X can hold it.
};

template <class DF, typename X, class Scale>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const ResidualSource<X, Scale>& s, size_t i) {
  hn::Vec<DF> v = hn::MulAdd(LoadF32(df, s.scale, i), LoadF32(df, s.b, i), LoadF32(df, s.a, i));
  if (s.sum != nullptr) StoreF32(v, df, s.sum, i);
  if (s.round_as != nullptr) v = RoundLike(df, v, s.round_as);
  return v;
}
template <class DF, typename X, class Scale>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const ResidualSource<X, Scale>& s, size_t i, size_t n) {
  hn::Vec<DF> v = hn::MulAdd(LoadNF32(df, s.scale, i, n), LoadNF32(df, s.b, i, n), LoadNF32(df, s.a, i, n));
  if (s.sum != nullptr) StoreNF32(v, df, s.sum, i, n);
  if (s.round_as != nullptr) v = RoundLike(df, v, s.round_as);
  return v;
}

// Calls body(source) with the source of one row; `sum` may be null.
template <typename X, class Body>
HWY_INLINE void WithResidualSource(const X* x, const X* f, X* sum, const Residual& residual, const Body& body) {
  const X* round_as = residual.statistics == ResidualStatistics::kRoundedSum ? x : nullptr;
  switch (residual.form) {
    case ResidualForm::kScaledInput:
      return body(ResidualSource<X, Broadcast>{f, x, {residual.alpha}, sum, round_as});
    case ResidualForm::kLayerScale:
      return body(ResidualSource<X, const float*>{x, f, residual.lambda, sum, round_as});
    case ResidualForm::kScaledBranch:
      return body(ResidualSource<X, Broadcast>{x, f, {residual.alpha}, sum, round_as});
    case ResidualForm::kPlain:
      return body(ResidualSource<X, Broadcast>{x, f, {1.0f}, sum, round_as});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RESIDUAL_INL_H_
