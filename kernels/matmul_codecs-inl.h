// Codecs: how each block type, interleaved as matmul_layout.h says, yields codes and scales for vectors of rows.
//
// A codec has kBytes (of a block), kSubBlocks (runs of 32 elements in it), kRange, kScalePer16, kHasOffset and
//   Prepare(w, G, table)                       once per block: fills kTable * G floats
//   Scales(w, G, table, sub, s0, m0, s1, m1)   weight = s * code + m for a run, see AddColumn
//   Codes(w, G, sub, c0..c7)                   the eight quads of codes of a run

#if defined(PRENORM_KERNELS_MATMUL_CODECS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_CODECS_INL_H_
#undef PRENORM_KERNELS_MATMUL_CODECS_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_CODECS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/matmul_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- Planes (matmul_layout.h)

template <int kShift>
HWY_INLINE VU8 ShiftRightWords(VU8 v) {
  return hn::BitCast(GroupU8(), hn::ShiftRight<kShift>(hn::BitCast(GroupU32(), v)));
}
template <int kShift>
HWY_INLINE VU8 ShiftLeftWords(VU8 v) {
  return hn::BitCast(GroupU8(), hn::ShiftLeft<kShift>(hn::BitCast(GroupU32(), v)));
}

HWY_INLINE void NibblePlane(const uint8_t* w, size_t G, VU8& c0, VU8& c1, VU8& c2, VU8& c3, VU8& c4, VU8& c5, VU8& c6,
                            VU8& c7) {
  const VU8 low = hn::Set(GroupU8(), uint8_t{15});
  const VU8 w0 = Words(w), w1 = Words(w + 4 * G), w2 = Words(w + 8 * G), w3 = Words(w + 12 * G);
  c0 = hn::And(w0, low), c4 = hn::And(ShiftRightWords<4>(w0), low);
  c1 = hn::And(w1, low), c5 = hn::And(ShiftRightWords<4>(w1), low);
  c2 = hn::And(w2, low), c6 = hn::And(ShiftRightWords<4>(w2), low);
  c3 = hn::And(w3, low), c7 = hn::And(ShiftRightWords<4>(w3), low);
}

HWY_INLINE VU8 OrMasked(VU8 code, VU8 high, VU8 mask) { return hn::Or(code, hn::And(high, mask)); }

// Or-s the bit plane at w into bit kBit (2 or 4) of the codes.
template <int kBit>
HWY_INLINE void OrBitPlane(const uint8_t* w, VU8& c0, VU8& c1, VU8& c2, VU8& c3, VU8& c4, VU8& c5, VU8& c6, VU8& c7) {
  const VU8 bit = hn::Set(GroupU8(), uint8_t{1 << kBit});
  const VU8 h = Words(w);
  if constexpr (kBit == 4) {
    c0 = OrMasked(c0, ShiftLeftWords<4>(h), bit), c1 = OrMasked(c1, ShiftLeftWords<3>(h), bit);
    c2 = OrMasked(c2, ShiftLeftWords<2>(h), bit), c3 = OrMasked(c3, ShiftLeftWords<1>(h), bit);
    c4 = OrMasked(c4, h, bit), c5 = OrMasked(c5, ShiftRightWords<1>(h), bit);
    c6 = OrMasked(c6, ShiftRightWords<2>(h), bit), c7 = OrMasked(c7, ShiftRightWords<3>(h), bit);
  } else {
    static_assert(kBit == 2);
    c0 = OrMasked(c0, ShiftLeftWords<2>(h), bit), c1 = OrMasked(c1, ShiftLeftWords<1>(h), bit);
    c2 = OrMasked(c2, h, bit), c3 = OrMasked(c3, ShiftRightWords<1>(h), bit);
    c4 = OrMasked(c4, ShiftRightWords<2>(h), bit), c5 = OrMasked(c5, ShiftRightWords<3>(h), bit);
    c6 = OrMasked(c6, ShiftRightWords<4>(h), bit), c7 = OrMasked(c7, ShiftRightWords<5>(h), bit);
  }
}

// Or-s the pair plane at w into bits 4 and 5 of the codes.
HWY_INLINE void OrPairPlane(const uint8_t* w, size_t G, VU8& c0, VU8& c1, VU8& c2, VU8& c3, VU8& c4, VU8& c5, VU8& c6,
                            VU8& c7) {
  const VU8 bits = hn::Set(GroupU8(), uint8_t{0x30});
  const VU8 h0 = Words(w), h1 = Words(w + 4 * G);
  c0 = OrMasked(c0, ShiftLeftWords<4>(h0), bits), c1 = OrMasked(c1, ShiftLeftWords<2>(h0), bits);
  c2 = OrMasked(c2, h0, bits), c3 = OrMasked(c3, ShiftRightWords<2>(h0), bits);
  c4 = OrMasked(c4, ShiftLeftWords<4>(h1), bits), c5 = OrMasked(c5, ShiftLeftWords<2>(h1), bits);
  c6 = OrMasked(c6, h1, bits), c7 = OrMasked(c7, ShiftRightWords<2>(h1), bits);
}

HWY_INLINE void PairPlane(const uint8_t* w, size_t G, VU8& c0, VU8& c1, VU8& c2, VU8& c3, VU8& c4, VU8& c5, VU8& c6,
                          VU8& c7) {
  const VU8 low = hn::Set(GroupU8(), uint8_t{3});
  const VU8 h0 = Words(w), h1 = Words(w + 4 * G);
  c0 = hn::And(h0, low), c1 = hn::And(ShiftRightWords<2>(h0), low);
  c2 = hn::And(ShiftRightWords<4>(h0), low), c3 = hn::And(ShiftRightWords<6>(h0), low);
  c4 = hn::And(h1, low), c5 = hn::And(ShiftRightWords<2>(h1), low);
  c6 = hn::And(ShiftRightWords<4>(h1), low), c7 = hn::And(ShiftRightWords<6>(h1), low);
}

// ---- Scales

// f16 scales of the rows of a group.
HWY_INLINE VF32 Halves(const uint8_t* w) {
  const hn::Rebind<hwy::float16_t, GroupF32> dh;
  const hn::Repartition<uint8_t, decltype(dh)> d8;
  return hn::PromoteTo(GroupF32(), hn::BitCast(dh, hn::LoadU(d8, w)));
}

HWY_INLINE hn::Vec<GroupU32> Words32(const uint8_t* w) { return hn::BitCast(GroupU32(), Words(w)); }

HWY_INLINE VF32 FromInt(hn::Vec<GroupU32> v) { return hn::ConvertTo(GroupF32(), hn::BitCast(GroupI32(), v)); }

// Names of the eight vectors of codes and of the scales, which cannot be arrays on targets with sizeless vectors.
#define PRENORM_CODES VU8 &c0, VU8 &c1, VU8 &c2, VU8 &c3, VU8 &c4, VU8 &c5, VU8 &c6, VU8 &c7
#define PRENORM_SCALES VF32 &s0, VF32 &m0, VF32 &s1, VF32 &m1

// Blocks of 32: one f16 scale d; m = kOffset * d (kOffset == 0: none).
template <int kOffset>
struct ScaleOfBlock {
  static constexpr size_t kSubBlocks = 1, kTable = 0;
  static constexpr bool kScalePer16 = false, kHasOffset = kOffset != 0;
  static HWY_INLINE void Prepare(const uint8_t*, size_t, float*) {}
  static HWY_INLINE void Scales(const uint8_t* w, size_t, const float*, size_t, PRENORM_SCALES) {
    s0 = s1 = m0 = m1 = Halves(w);
    if constexpr (kHasOffset) m0 = m1 = hn::Mul(s0, hn::Set(GroupF32(), static_cast<float>(kOffset)));
  }
};

// Blocks of 32 with an f16 scale and an f16 offset.
struct ScaleAndOffsetOfBlock {
  static constexpr size_t kSubBlocks = 1, kTable = 0;
  static constexpr bool kScalePer16 = false, kHasOffset = true;
  static HWY_INLINE void Prepare(const uint8_t*, size_t, float*) {}
  static HWY_INLINE void Scales(const uint8_t* w, size_t G, const float*, size_t, PRENORM_SCALES) {
    s0 = s1 = Halves(w);
    m0 = m1 = Halves(w + 2 * G);
  }
};

// Super-blocks of 256: Prepare writes f32 scales, then AddGroup reads those of one run of 32 after the other.
// The table is [value][row of the group]; scale and offset alternate.
template <bool kPer16>
struct ScaleTable {
  static constexpr size_t kSubBlocks = 8, kTable = kPer16 ? 32 : 16;
  static constexpr bool kScalePer16 = kPer16;
  static HWY_INLINE void Scales(const uint8_t*, size_t G, const float* table, size_t sub, PRENORM_SCALES) {
    const GroupF32 df;
    table += sub * (kPer16 ? 4 : 2) * G;
    s0 = s1 = hn::LoadU(df, table);
    m0 = m1 = hn::LoadU(df, table + G);
    if constexpr (kPer16) {
      s1 = hn::LoadU(df, table + 2 * G);
      m1 = hn::LoadU(df, table + 3 * G);
    }
  }
};

// Calls visit(i, value) for the sixteen six-bit values of three words (matmul_layout.cc, PackSixes).
template <class Visit>
HWY_INLINE void ForEachSix(const uint8_t* w, size_t G, Visit&& visit) {
  const GroupU32 du;
  const auto mask = hn::Set(du, 63u);
  auto v0 = Words32(w), v1 = Words32(w + 4 * G), v2 = Words32(w + 8 * G);
  for (size_t i = 0; i < 5; ++i) {
    visit(i, hn::And(v0, mask));
    visit(i + 5, hn::And(v1, mask));
    visit(i + 10, hn::And(v2, mask));
    v0 = hn::ShiftRight<6>(v0), v1 = hn::ShiftRight<6>(v1), v2 = hn::ShiftRight<6>(v2);
  }
  visit(size_t{15}, hn::Or(v0, hn::Or(hn::ShiftLeft<2>(v1), hn::ShiftLeft<4>(v2))));
}

// d * scale and -dmin * min of Q4_K and Q5_K.
struct ScalesOfK45 : ScaleTable<false> {
  static constexpr bool kHasOffset = true;
  static HWY_INLINE void Prepare(const uint8_t* w, size_t G, float* table) {
    const GroupF32 df;
    const VF32 d = Halves(w), dmin = hn::Neg(Halves(w + 2 * G));
    ForEachSix(w + 4 * G, G, [&](size_t i, hn::Vec<GroupU32> v) HWY_ATTR {
      hn::StoreU(hn::Mul(FromInt(v), i % 2 == 0 ? d : dmin), df, table + i * G);
    });
  }
};

// ---- Codecs

struct CodecQ4_0 : ScaleOfBlock<-8> {
  static constexpr size_t kBytes = 18;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    NibblePlane(w + 2 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ4_1 : ScaleAndOffsetOfBlock {
  static constexpr size_t kBytes = 20;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    NibblePlane(w + 4 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ5_0 : ScaleOfBlock<-16> {
  static constexpr size_t kBytes = 22;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    NibblePlane(w + 6 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    OrBitPlane<4>(w + 2 * G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ5_1 : ScaleAndOffsetOfBlock {
  static constexpr size_t kBytes = 24;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    NibblePlane(w + 8 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    OrBitPlane<4>(w + 4 * G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ8_0 : ScaleOfBlock<0> {
  static constexpr size_t kBytes = 34;
  static constexpr CodeRange kRange = CodeRange::kSigned8;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    w += 2 * G;
    c0 = FromSigned(Words(w)), c1 = FromSigned(Words(w + 4 * G));
    c2 = FromSigned(Words(w + 8 * G)), c3 = FromSigned(Words(w + 12 * G));
    c4 = FromSigned(Words(w + 16 * G)), c5 = FromSigned(Words(w + 20 * G));
    c6 = FromSigned(Words(w + 24 * G)), c7 = FromSigned(Words(w + 28 * G));
  }
};

struct CodecQ4_K : ScalesOfK45 {
  static constexpr size_t kBytes = 144;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    NibblePlane(w + (16 + 16 * sub) * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ5_K : ScalesOfK45 {
  static constexpr size_t kBytes = 176;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    w += (16 + 20 * sub) * G;
    NibblePlane(w + 4 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    OrBitPlane<4>(w, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ6_K : ScaleTable<true> {
  static constexpr size_t kBytes = 210;
  static constexpr bool kHasOffset = true;
  static constexpr CodeRange kRange = CodeRange::kUnsigned6;
  static HWY_INLINE void Prepare(const uint8_t* w, size_t G, float* table) {
    const GroupF32 df;
    const VF32 d = Halves(w), offset = hn::Set(df, -32.0f);
    for (size_t i = 0; i < 4; ++i) {
      auto v = hn::BitCast(GroupI32(), Words(w + (2 + 4 * i) * G));
      const auto v0 = hn::ShiftRight<24>(hn::ShiftLeft<24>(v)), v1 = hn::ShiftRight<24>(hn::ShiftLeft<16>(v));
      const auto v2 = hn::ShiftRight<24>(hn::ShiftLeft<8>(v)), v3 = hn::ShiftRight<24>(v);
      const auto store = [&](size_t k, VI32 code) HWY_ATTR {
        const VF32 scale = hn::Mul(hn::ConvertTo(df, code), d);
        hn::StoreU(scale, df, table + (8 * i + 2 * k) * G);
        hn::StoreU(hn::Mul(scale, offset), df, table + (8 * i + 2 * k + 1) * G);
      };
      store(0, v0), store(1, v1), store(2, v2), store(3, v3);
    }
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    w += (18 + 24 * sub) * G;
    NibblePlane(w + 8 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    OrPairPlane(w, G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ3_K : ScaleTable<true> {
  static constexpr size_t kBytes = 110;
  static constexpr bool kHasOffset = true;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Prepare(const uint8_t* w, size_t G, float* table) {
    const GroupF32 df;
    const VF32 d = Halves(w), offset = hn::Set(df, -4.0f), bias = hn::Set(df, 32.0f);
    ForEachSix(w + 2 * G, G, [&](size_t i, hn::Vec<GroupU32> v) HWY_ATTR {
      const VF32 scale = hn::Mul(hn::Sub(FromInt(v), bias), d);
      hn::StoreU(scale, df, table + 2 * i * G);
      hn::StoreU(hn::Mul(scale, offset), df, table + (2 * i + 1) * G);
    });
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    w += (14 + 12 * sub) * G;
    PairPlane(w + 4 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    OrBitPlane<2>(w, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecQ2_K : ScaleTable<true> {
  static constexpr size_t kBytes = 84;
  static constexpr bool kHasOffset = true;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Prepare(const uint8_t* w, size_t G, float* table) {
    const GroupF32 df;
    const VF32 d = Halves(w), dmin = hn::Neg(Halves(w + 2 * G));
    const auto mask = hn::Set(GroupU32(), 15u);
    for (size_t i = 0; i < 4; ++i) {
      auto v = Words32(w + (4 + 4 * i) * G);
      for (size_t k = 0; k < 4; ++k, v = hn::ShiftRight<8>(v)) {
        hn::StoreU(hn::Mul(FromInt(hn::And(v, mask)), d), df, table + (8 * i + 2 * k) * G);
        hn::StoreU(hn::Mul(FromInt(hn::And(hn::ShiftRight<4>(v), mask)), dmin), df, table + (8 * i + 2 * k + 1) * G);
      }
    }
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    PairPlane(w + (20 + 8 * sub) * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

// Replaces nibbles by entries of a table of 16 signed bytes.
HWY_INLINE void LookUp(VU8 table, PRENORM_CODES) {
  c0 = hn::TableLookupBytes(table, c0), c1 = hn::TableLookupBytes(table, c1);
  c2 = hn::TableLookupBytes(table, c2), c3 = hn::TableLookupBytes(table, c3);
  c4 = hn::TableLookupBytes(table, c4), c5 = hn::TableLookupBytes(table, c5);
  c6 = hn::TableLookupBytes(table, c6), c7 = hn::TableLookupBytes(table, c7);
}

HWY_INLINE VU8 TableOfIQ4() {
  alignas(16) static constexpr int8_t kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};
  return FromSigned(hn::BitCast(GroupU8(), hn::LoadDup128(GroupI8(), kTable)));
}

struct CodecIQ4_NL : ScaleOfBlock<0> {
  static constexpr size_t kBytes = 18;
  static constexpr CodeRange kRange = CodeRange::kSigned8;
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    NibblePlane(w + 2 * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    LookUp(TableOfIQ4(), c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

struct CodecIQ4_XS : ScaleTable<false> {
  static constexpr size_t kBytes = 136;
  static constexpr bool kHasOffset = false;
  static constexpr CodeRange kRange = CodeRange::kSigned8;
  static HWY_INLINE void Prepare(const uint8_t* w, size_t G, float* table) {
    const GroupF32 df;
    const GroupU32 du;
    const hn::Rebind<uint16_t, GroupU32> d16;
    const VF32 d = Halves(w);
    auto high = hn::PromoteTo(du, hn::BitCast(d16, hn::LoadU(hn::Repartition<uint8_t, decltype(d16)>(), w + 2 * G)));
    auto low = Words32(w + 4 * G);
    for (size_t i = 0; i < 8; ++i, high = hn::ShiftRight<2>(high), low = hn::ShiftRight<4>(low)) {
      const auto v = hn::Or(hn::And(low, hn::Set(du, 15u)), hn::ShiftLeft<4>(hn::And(high, hn::Set(du, 3u))));
      hn::StoreU(hn::Mul(hn::Sub(FromInt(v), hn::Set(df, 32.0f)), d), df, table + 2 * i * G);
      hn::StoreU(hn::Zero(df), df, table + (2 * i + 1) * G);
    }
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t sub, PRENORM_CODES) {
    NibblePlane(w + (8 + 16 * sub) * G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    LookUp(TableOfIQ4(), c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

// Scale 2^(e - 128) for values doubled to integers, and those plus 12 as unsigned codes.
struct CodecMXFP4 {
  static constexpr size_t kBytes = 17, kSubBlocks = 1, kTable = 0;
  static constexpr bool kScalePer16 = false, kHasOffset = true;
  static constexpr CodeRange kRange = CodeRange::kUnsigned5;
  static HWY_INLINE void Prepare(const uint8_t*, size_t, float*) {}
  static HWY_INLINE void Scales(const uint8_t* w, size_t, const float*, size_t, PRENORM_SCALES) {
    const GroupF32 df;
    const GroupU32 du;
    const auto e = hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint8_t, GroupU32>(), w));
    // e = 0 and 1 give the subnormals 2^-128 and 2^-127.
    const auto small = hn::IfThenElse(hn::Eq(e, hn::Zero(du)), hn::Set(du, 0x00200000u), hn::Set(du, 0x00400000u));
    const auto bits = hn::IfThenElse(hn::Gt(e, hn::Set(du, 1u)), hn::ShiftLeft<23>(hn::Sub(e, hn::Set(du, 1u))), small);
    s0 = s1 = hn::BitCast(df, bits);
    m0 = m1 = hn::Mul(s0, hn::Set(df, -12.0f));
  }
  static HWY_INLINE void Codes(const uint8_t* w, size_t G, size_t, PRENORM_CODES) {
    alignas(16) static constexpr uint8_t kTable[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
    NibblePlane(w + G, G, c0, c1, c2, c3, c4, c5, c6, c7);
    LookUp(hn::LoadDup128(GroupU8(), kTable), c0, c1, c2, c3, c4, c5, c6, c7);
  }
};

#undef PRENORM_CODES
#undef PRENORM_SCALES

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
