// The residual sum of a row as pieces: reading one forms the sum and, where asked for, writes it.
// The three scaled forms are one: a + scale * b, where DeepNorm scales the input and the others the branch.

#include "prenorm/norm.h"

#if defined(PRENORM_KERNELS_RESIDUAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_RESIDUAL_INL_H_
#undef PRENORM_KERNELS_RESIDUAL_INL_H_
#else
#define PRENORM_KERNELS_RESIDUAL_INL_H_
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/row_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A formed piece at `p`, while what is at `next` is fetched into the caches.
template <typename Next>
struct Fetching {
  const float* p;
  const Next* next;
};
template <class DF, typename Next>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Fetching<Next>& s, size_t i) {
  hwy::Prefetch(s.next + i);
  return LoadF32(df, s.p, i);
}
template <class DF, typename Next>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Fetching<Next>& s, size_t i, size_t n) {
  return LoadNF32(df, s.p, i, n);
}

template <typename X>
class ResidualPieces final : public RowPieces {
 public:
  ResidualPieces(const Residual& residual, const X* x, const X* f) : x_(x), f_(f), residual_(residual) {}

  // Where to write the sum as it is formed; null: it is only read.
  ResidualPieces& WriteTo(X* sum) {
    sum_ = sum;
    return *this;
  }
  // Whether what is read is the sum as X can hold it.
  ResidualPieces& Round(bool round) {
    round_ = round && std::is_same_v<X, bf16>;
    return *this;
  }

  const float* Piece(size_t begin, size_t count, float* buffer) const override {
    const RowTag df;
    float* to = buffer;
    if constexpr (std::is_same_v<X, float>) {
      if (sum_ != nullptr) to = sum_ + begin;
    }
    FormTo(to, begin, count);
    if constexpr (std::is_same_v<X, bf16>) {
      const float* formed = to;
      if (sum_ != nullptr)
        MapRow(
            df, count, sum_ + begin, [](V v) HWY_ATTR { return v; }, formed);
      if (round_)
        MapRow(
            df, count, to, [&](V v) HWY_ATTR { return RoundToBf16(df, v); }, formed);
    }
    return to;
  }

 private:
  using V = hn::Vec<RowTag>;

  HWY_INLINE void FormTo(float* to, size_t begin, size_t count) const {
    const RowTag df;
    const bool scales_input = residual_.form == ResidualForm::kScaledInput;
    const X* a = (scales_input ? f_ : x_) + begin;
    const X* b = (scales_input ? x_ : f_) + begin;
    if (residual_.form == ResidualForm::kLayerScale) {
      const auto func = [](V l, V w, V v) HWY_ATTR { return hn::MulAdd(l, w, v); };
      MapRow(df, count, to, func, residual_.lambda + begin, b, a);
    } else {
      const V alpha = hn::Set(df, residual_.form == ResidualForm::kPlain ? 1.0f : residual_.alpha);
      MapRow(
          df, count, to, [&](V w, V v) HWY_ATTR { return hn::MulAdd(alpha, w, v); }, b, a);
    }
  }

  const X* x_;
  const X* f_;
  const Residual& residual_;
  X* sum_ = nullptr;
  bool round_ = false;
};

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_RESIDUAL_INL_H_
