// Reading and writing rows: widen to f32 at the load, round once at the store, never touch memory outside of the row.
//
// A *source* is whatever LoadF32(df, source, i) and LoadNF32(df, source, i, n) accept: a pointer to f32 or bf16, or one
// of the small structs below. Elements i .. i + Lanes(df) (or i .. i + n, the other lanes being 0) come out as f32.
// An operator is a lambda on f32 vectors; MapRow owns the loop, the tail and the rounding.

#if defined(PRENORM_KERNELS_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_CONVERT_INL_H_
#undef PRENORM_KERNELS_CONVERT_INL_H_
#else
#define PRENORM_KERNELS_CONVERT_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "prenorm/types.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that 4 vectors never exceed the 64 virtual lanes of reduce-inl.h (SVE and RVV may be wider).
using RowTag = hn::CappedTag<float, 16>;

// ---- Sources

// The same value everywhere; multiplying by 1 costs nothing and changes no bit.
struct Broadcast {
  float value;
};

// The elements at `p`, or `value` everywhere where p is null.
template <typename T>
struct Nullable {
  const T* p;
  float value;
};

// source * scale, where scale is a power of two.
template <class Source>
struct Scaled {
  Source source;
  float scale;
};

// source - shift.
template <class Source>
struct Shifted {
  Source source;
  float shift;
};

template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const float* p, size_t i) {
  return hn::LoadU(df, p + i);
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const float* p, size_t i, size_t n) {
  return hn::LoadN(df, p + i, n);
}

// bf16 is the upper half of an f32.
template <class DF>
HWY_INLINE hn::Vec<DF> WidenBf16(DF df, hn::Vec<hn::Rebind<uint16_t, DF>> bits) {
  const hn::RebindToUnsigned<DF> du;
  return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const bf16* p, size_t i) {
  const hn::Rebind<uint16_t, DF> d16;
  return WidenBf16(df, hn::LoadU(d16, &p[i].bits));
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const bf16* p, size_t i, size_t n) {
  const hn::Rebind<uint16_t, DF> d16;
  return WidenBf16(df, hn::LoadN(d16, &p[i].bits, n));
}

template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, Broadcast s, size_t) {
  return hn::Set(df, s.value);
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, Broadcast s, size_t, size_t) {
  return hn::Set(df, s.value);
}

template <class DF, typename T>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Nullable<T>& s, size_t i) {
  return s.p != nullptr ? LoadF32(df, s.p, i) : hn::Set(df, s.value);
}
template <class DF, typename T>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Nullable<T>& s, size_t i, size_t n) {
  return s.p != nullptr ? LoadNF32(df, s.p, i, n) : hn::Set(df, s.value);
}

template <class DF, class Source>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Scaled<Source>& s, size_t i) {
  return hn::Mul(LoadF32(df, s.source, i), hn::Set(df, s.scale));
}
template <class DF, class Source>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Scaled<Source>& s, size_t i, size_t n) {
  return hn::Mul(LoadNF32(df, s.source, i, n), hn::Set(df, s.scale));
}

template <class DF, class Source>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Shifted<Source>& s, size_t i) {
  return hn::Sub(LoadF32(df, s.source, i), hn::Set(df, s.shift));
}
template <class DF, class Source>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Shifted<Source>& s, size_t i, size_t n) {
  const hn::Vec<DF> shifted = hn::Sub(LoadNF32(df, s.source, i, n), hn::Set(df, s.shift));
  return hn::IfThenElseZero(hn::FirstN(df, n), shifted);
}

// The elements at `p`, while those `ahead` elements further on are fetched.
template <typename T>
struct Ahead {
  const T* p;
  size_t ahead;
};
template <class DF, typename T>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const Ahead<T>& s, size_t i) {
  hwy::Prefetch(s.p + i + s.ahead);
  return LoadF32(df, s.p, i);
}
template <class DF, typename T>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const Ahead<T>& s, size_t i, size_t n) {
  return LoadNF32(df, s.p, i, n);
}

// ---- Rounding and storing

// The bits of ToBf16(v) in the upper half of each lane, garbage below. Integer arithmetic, because the native
// conversion flushes subnormals.
template <class DF>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> RoundedBf16Bits(DF, hn::Vec<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

// v rounded to bf16 and widened again.
template <class DF>
HWY_INLINE hn::Vec<DF> RoundToBf16(DF df, hn::Vec<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  return hn::BitCast(df, hn::And(RoundedBf16Bits(df, v), hn::Set(du, 0xFFFF0000u)));
}

template <class DF>
HWY_INLINE void StoreF32(hn::Vec<DF> v, DF df, float* p, size_t i) {
  hn::StoreU(v, df, p + i);
}
template <class DF>
HWY_INLINE void StoreNF32(hn::Vec<DF> v, DF df, float* p, size_t i, size_t n) {
  hn::StoreN(v, df, p + i, n);
}
template <class DF>
HWY_INLINE void StoreF32(hn::Vec<DF> v, DF df, bf16* p, size_t i) {
  const hn::Rebind<uint16_t, DF> d16;
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(RoundedBf16Bits(df, v))), d16, &p[i].bits);
}
template <class DF>
HWY_INLINE void StoreNF32(hn::Vec<DF> v, DF df, bf16* p, size_t i, size_t n) {
  const hn::Rebind<uint16_t, DF> d16;
  hn::StoreN(hn::TruncateTo(d16, hn::ShiftRight<16>(RoundedBf16Bits(df, v))), d16, &p[i].bits, n);
}

// Two neighbouring vectors. bf16 of full vectors are packed by one shuffle of upper halves. Stream: past the caches; p
// + i must be a multiple of a vector.
template <class DF>
HWY_INLINE void StorePairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, float* p, size_t i) {
  hn::StoreU(v0, df, p + i);
  hn::StoreU(v1, df, p + i + hn::Lanes(df));
}
template <class DF>
HWY_INLINE void StreamPairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, float* p, size_t i) {
  hn::Stream(v0, df, p + i);
  hn::Stream(v1, df, p + i + hn::Lanes(df));
}
#if HWY_TARGET == HWY_SCALAR  // Vectors of one lane, which no pair of halves fills.
template <class DF>
HWY_INLINE void StorePairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, bf16* p, size_t i) {
  StoreF32(v0, df, p, i);
  StoreF32(v1, df, p, i + 1);
}
template <class DF>
HWY_INLINE void StreamPairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, bf16* p, size_t i) {
  StorePairF32(v0, v1, df, p, i);
}
#else
template <class DF>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, DF>> RoundedPair(DF df, hn::Vec<DF> v0, hn::Vec<DF> v1) {
  const hn::Repartition<uint16_t, DF> d16;
  return hn::ConcatOdd(d16, hn::BitCast(d16, RoundedBf16Bits(df, v1)), hn::BitCast(d16, RoundedBf16Bits(df, v0)));
}
template <class DF>
HWY_INLINE void StorePairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, bf16* p, size_t i) {
  hn::StoreU(RoundedPair(df, v0, v1), hn::Repartition<uint16_t, DF>(), &p[i].bits);
}
template <class DF>
HWY_INLINE void StreamPairF32(hn::Vec<DF> v0, hn::Vec<DF> v1, DF df, bf16* p, size_t i) {
  hn::Stream(RoundedPair(df, v0, v1), hn::Repartition<uint16_t, DF>(), &p[i].bits);
}
#endif

// ---- The loop

// From this size on, results would push each other out of the caches anyway, and a store that goes past them saves
// reading the line first: 8 instead of 12 bytes cross per f32.
inline constexpr size_t kStreamBytes = size_t{16} << 20;

// Whether rows may be written past the caches: much, not in place, every row at a multiple of the cache line.
template <typename X, typename Out>
HWY_INLINE bool MayStream(const X* x, const Out* out, size_t out_stride, size_t rows, size_t cols) {
  const size_t line = 64;
  return rows * cols >= kStreamBytes / sizeof(Out) && static_cast<const void*>(x) != static_cast<const void*>(out) &&
         reinterpret_cast<uintptr_t>(out) % line == 0 && out_stride * sizeof(Out) % line == 0;
}

// out[i] = func(source0[i], source1[i], ...) for i < cols. `out` may be one of the sources. kStream: by stores that go
// past the caches, for which out must begin at a multiple of 64 bytes and not be a source.
template <bool kStream = false, class DF, typename TOut, class Func, class... Sources>
HWY_INLINE void MapRow(DF df, size_t cols, TOut* out, const Func& func, const Sources&... sources) {
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  if (cols >= 2 * N) {
    for (; i <= cols - 2 * N; i += 2 * N) {
      const hn::Vec<DF> y0 = func(LoadF32(df, sources, i)...);
      const hn::Vec<DF> y1 = func(LoadF32(df, sources, i + N)...);
      if constexpr (kStream) {
        StreamPairF32(y0, y1, df, out, i);
      } else {
        StorePairF32(y0, y1, df, out, i);
      }
    }
  }
  if (cols - i >= N) {
    StoreF32(func(LoadF32(df, sources, i)...), df, out, i);
    i += N;
  }
  if (const size_t remaining = cols - i; remaining != 0) {
    StoreNF32(func(LoadNF32(df, sources, i, remaining)...), df, out, i, remaining);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_CONVERT_INL_H_
