// Gain or bias of a row as the sweeps read it: f32 in memory, whatever the caller has. One sweep for each pair of row
// types is enough then; bf16 gains, missing ones and 1 + gain are formed in a buffer a chunk at a time.

#if defined(PRENORM_KERNELS_AFFINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_AFFINE_INL_H_
#undef PRENORM_KERNELS_AFFINE_INL_H_
#else
#define PRENORM_KERNELS_AFFINE_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From this size on rows come from beyond L1, and fetching the next one while this one is written pays: LayerNorm of
// 512 x 4096 takes 1.2 times as long without.
inline constexpr size_t kFetchBytes = size_t{1} << 17;

template <typename X>
HWY_INLINE bool MayFetch(const X*, size_t rows, size_t cols) {
  return rows > 1 && rows * cols >= kFetchBytes / sizeof(X);
}

class AffineRow {
 public:
  // `f32` or `narrow`; with neither, `missing` everywhere. `added` is added to what is in memory; -0 changes no bit.
  AffineRow(const float* f32, const bf16* narrow, float missing, float added, size_t cols)
      : f32_(f32), narrow_(narrow), missing_(missing), added_(added), cols_(cols) {
    direct_ = f32 != nullptr && added == 0.0f;
    // What one buffer holds is formed once for all rows.
    formed_ = !direct_ && (cols <= kChunk || (f32 == nullptr && narrow == nullptr));
    if (formed_) Form(0, std::min(cols, kChunk));
  }

  bool present() const { return f32_ != nullptr || narrow_ != nullptr; }

  // How many elements one At() gives at most.
  size_t step() const { return direct_ ? cols_ : kChunk; }

  // Elements from `begin`, a multiple of step(), on.
  const float* At(size_t begin) {
    if (HWY_LIKELY(direct_)) return f32_ + begin;
    if (!formed_) Form(begin, std::min(kChunk, cols_ - begin));
    return buffer_;
  }

 private:
  HWY_NOINLINE void Form(size_t begin, size_t count) {
    const RowTag df;
    const auto added = hn::Set(df, added_);
    const auto func = [&](hn::Vec<RowTag> v) HWY_ATTR { return hn::Add(v, added); };
    if (f32_ != nullptr) {
      MapRow(df, count, buffer_, func, f32_ + begin);
    } else if (narrow_ != nullptr) {
      MapRow(df, count, buffer_, func, narrow_ + begin);
    } else {
      std::fill_n(buffer_, count, missing_);
    }
  }

  const float* f32_;
  const bf16* narrow_;
  float missing_;
  float added_;
  size_t cols_;
  bool direct_;
  bool formed_;
  HWY_ALIGN float buffer_[kChunk];
};

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_AFFINE_INL_H_
