// Many columns: the codes and scales of a panel of groups are unpacked once, into bytes and f32, for all tiles that
// follow. The arithmetic, and so the bits, are those of the codec that was unpacked.

#if defined(PRENORM_KERNELS_MATMUL_EXPANDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_EXPANDED_INL_H_
#undef PRENORM_KERNELS_MATMUL_EXPANDED_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_EXPANDED_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/matmul_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From this many columns on, the unpacking is paid back.
inline constexpr size_t kExpandColumns = 4 * kTile;

// A codec of runs of 32 elements: eight vectors of codes as DotOf16 takes them, then s0, m0, s1, m1, as far as the
// unpacked codec has them.
template <class Codec>
struct Expanded {
  static constexpr size_t kSubBlocks = 1, kTable = 0;
  static constexpr bool kScalePer16 = Codec::kScalePer16, kHasOffset = Codec::kHasOffset;
  static constexpr CodeRange kRange = Codec::kRange;
  static constexpr size_t kScales = size_t{kScalePer16 ? 2 : 1} * (kHasOffset || kScalePer16 ? 2 : 1);
  static constexpr size_t kBytes = 32 + kScales * sizeof(float);

  static HWY_INLINE void Prepare(const uint8_t*, size_t, float*) {}
  static HWY_INLINE void Scales(const uint8_t* w, size_t G, const float*, size_t, VF32& s0, VF32& m0, VF32& s1,
                                VF32& m1) {
    const GroupF32 df;
    const auto* scales = reinterpret_cast<const float*>(w + 32 * G);
    s0 = s1 = m0 = m1 = hn::LoadU(df, scales);
    if constexpr (kScales > 1) m0 = m1 = hn::LoadU(df, scales + G);
    if constexpr (kScales > 2) s1 = hn::LoadU(df, scales + 2 * G), m1 = hn::LoadU(df, scales + 3 * G);
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, VU8& c0, VU8& c1, VU8& c2, VU8& c3, VU8& c4, VU8& c5,
                               VU8& c6, VU8& c7) {
    c0 = Words(w), c1 = Words(w + 4 * G), c2 = Words(w + 8 * G), c3 = Words(w + 12 * G);
    c4 = Words(w + 16 * G), c5 = Words(w + 20 * G), c6 = Words(w + 24 * G), c7 = Words(w + 28 * G);
  }
};

// Unpacks `blocks` blocks of a group.
template <class Codec>
HWY_NOINLINE void ExpandGroup(const uint8_t* HWY_RESTRICT w, size_t blocks, uint8_t* HWY_RESTRICT to) {
  using To = Expanded<Codec>;
  const GroupF32 df;
  const GroupU8 d8;
  const size_t G = GroupRows();
  HWY_ALIGN float table[Codec::kTable * matmul::kMaxGroup + 1];
  for (size_t b = 0; b < blocks; ++b, w += Codec::kBytes * G) {
    Codec::Prepare(w, G, table);
    for (size_t sub = 0; sub < Codec::kSubBlocks; ++sub, to += To::kBytes * G) {
      VF32 s0, m0, s1, m1;
      Codec::Scales(w, G, table, sub, s0, m0, s1, m1);
      auto* scales = reinterpret_cast<float*>(to + 32 * G);
      hn::StoreU(s0, df, scales);
      if constexpr (To::kScales > 1) hn::StoreU(m0, df, scales + G);
      if constexpr (To::kScales > 2) hn::StoreU(s1, df, scales + 2 * G), hn::StoreU(m1, df, scales + 3 * G);
      VU8 c0, c1, c2, c3, c4, c5, c6, c7;
      Codec::Codes(w, G, sub, c0, c1, c2, c3, c4, c5, c6, c7);
      hn::StoreU(c0, d8, to), hn::StoreU(c1, d8, to + 4 * G);
      hn::StoreU(c2, d8, to + 8 * G), hn::StoreU(c3, d8, to + 12 * G);
      hn::StoreU(c4, d8, to + 16 * G), hn::StoreU(c5, d8, to + 20 * G);
      hn::StoreU(c6, d8, to + 24 * G), hn::StoreU(c7, d8, to + 28 * G);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
