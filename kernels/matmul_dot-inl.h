// Integer dots of row-interleaved codes with int8 activations: lanes are rows, so nothing is ever summed across lanes.

#if defined(PRENORM_KERNELS_MATMUL_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_DOT_INL_H_
#undef PRENORM_KERNELS_MATMUL_DOT_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_DOT_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/matmul_int8.h"
#include "kernels/matmul_layout.h"

// How this target multiplies bytes: by the dot of four unsigned x signed bytes into 32 bits (VNNI), by pairs into 16
// bits (x86 without VNNI), or by Highway's own choice for signed bytes.
#undef PRENORM_DOT_VNNI
#undef PRENORM_DOT_PAIRS
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#define PRENORM_DOT_VNNI 1
#define PRENORM_DOT_PAIRS 0
#elif HWY_ARCH_X86
#define PRENORM_DOT_VNNI 0
#define PRENORM_DOT_PAIRS 1
#else
#define PRENORM_DOT_VNNI 0
#define PRENORM_DOT_PAIRS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GroupF32 = hn::CappedTag<float, matmul::kMaxGroup>;  // one lane per row of a group
using GroupI32 = hn::RebindToSigned<GroupF32>;
using GroupU32 = hn::RebindToUnsigned<GroupF32>;
using GroupI16 = hn::Repartition<int16_t, GroupF32>;
using GroupI8 = hn::Repartition<int8_t, GroupF32>;
using GroupU8 = hn::Repartition<uint8_t, GroupF32>;  // rows x 4 consecutive codes
using VF32 = hn::Vec<GroupF32>;
using VI32 = hn::Vec<GroupI32>;
using VU8 = hn::Vec<GroupU8>;

// Columns whose dots are computed together: what the registers hold.
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_AVX2
inline constexpr size_t kTile = 4;
#else
inline constexpr size_t kTile = 8;
#endif

HWY_INLINE size_t GroupRows() { return hn::Lanes(GroupF32()); }

// Range of the codes, which decides how many products fit into 16 bits.
enum class CodeRange {
  kUnsigned5,  // 0..31
  kUnsigned6,  // 0..63
  kSigned8,    // -128..127; on VNNI targets stored with an offset of 128
};

HWY_INLINE VU8 Words(const uint8_t* p) { return hn::LoadU(GroupU8(), p); }

// Signed bytes in the form that DotOf16<kSigned8> takes.
HWY_INLINE VU8 FromSigned(VU8 codes) {
#if PRENORM_DOT_VNNI
  return hn::Xor(codes, hn::Set(GroupU8(), uint8_t{0x80}));
#else
  return codes;
#endif
}

// The four activations at x for every row.
HWY_INLINE hn::Vec<GroupI8> Quad(const int8_t* x) {
  int32_t bits;
  std::memcpy(&bits, x, 4);
  return hn::BitCast(GroupI8(), hn::Set(GroupI32(), bits));
}

#if PRENORM_DOT_PAIRS
HWY_INLINE VI32 SumPairs(hn::Vec<GroupI16> v) {
  return hn::WidenMulPairwiseAdd(GroupI32(), v, hn::Set(GroupI16(), int16_t{1}));
}

// u8 x s8 pairs: at most 2 * code * 127 in magnitude, below 2^15 for every code here, |-128| included.
HWY_INLINE hn::Vec<GroupI16> MulPairs(VU8 codes, hn::Vec<GroupI8> x) {
  return hn::SatWidenMulPairwiseAdd(GroupI16(), codes, x);
}

// |code| x (x with the sign of code). Where code is zero, whatever the second factor is does not matter.
HWY_INLINE VI32 MulSigned(VU8 codes, const int8_t* x) {
  const GroupI8 d8;
  const auto w = hn::BitCast(d8, codes);
  return SumPairs(MulPairs(hn::BitCast(GroupU8(), hn::Abs(w)), hn::IfNegativeThenNegOrUndefIfZero(w, Quad(x))));
}
#endif

// Exact sums over 16 consecutive elements of code * x, per row.
template <CodeRange kRange>
HWY_INLINE VI32 DotOf16(VU8 c0, VU8 c1, VU8 c2, VU8 c3, const int8_t* HWY_RESTRICT x, int32_t bias) {
#if PRENORM_DOT_PAIRS
  (void)bias;
  if constexpr (kRange == CodeRange::kUnsigned5) {  // 4 * 2 * 31 * 127 = 31496 < 2^15
    const auto p01 = hn::Add(MulPairs(c0, Quad(x)), MulPairs(c1, Quad(x + 4)));
    const auto p23 = hn::Add(MulPairs(c2, Quad(x + 8)), MulPairs(c3, Quad(x + 12)));
    return SumPairs(hn::Add(p01, p23));
  } else if constexpr (kRange == CodeRange::kUnsigned6) {  // 2 * 2 * 63 * 127 = 32004 < 2^15
    const auto p01 = hn::Add(MulPairs(c0, Quad(x)), MulPairs(c1, Quad(x + 4)));
    const auto p23 = hn::Add(MulPairs(c2, Quad(x + 8)), MulPairs(c3, Quad(x + 12)));
    return hn::Add(SumPairs(p01), SumPairs(p23));
  } else {
    return hn::Add(hn::Add(MulSigned(c0, x), MulSigned(c1, x + 4)),
                   hn::Add(MulSigned(c2, x + 8), MulSigned(c3, x + 12)));
  }
#elif PRENORM_DOT_VNNI
  const GroupI32 di;
  VI32 sum = kRange == CodeRange::kSigned8 ? hn::Set(di, bias) : hn::Zero(di);
  sum = hn::SumOfMulQuadAccumulate(di, c0, Quad(x), sum);
  sum = hn::SumOfMulQuadAccumulate(di, c1, Quad(x + 4), sum);
  sum = hn::SumOfMulQuadAccumulate(di, c2, Quad(x + 8), sum);
  return hn::SumOfMulQuadAccumulate(di, c3, Quad(x + 12), sum);
#else
  (void)bias;
  const GroupI8 d8;
  const GroupI32 di;
  VI32 sum = hn::Zero(di);
  sum = hn::SumOfMulQuadAccumulate(di, hn::BitCast(d8, c0), Quad(x), sum);
  sum = hn::SumOfMulQuadAccumulate(di, hn::BitCast(d8, c1), Quad(x + 4), sum);
  sum = hn::SumOfMulQuadAccumulate(di, hn::BitCast(d8, c2), Quad(x + 8), sum);
  return hn::SumOfMulQuadAccumulate(di, hn::BitCast(d8, c3), Quad(x + 12), sum);
#endif
}

// acc + the products of 32 elements of a group with one column. w = scale * code + offset, with a scale (s0, s1) and an
// offset (m0, m1) per 16 elements, or s0 and m0 alone for all 32. This order of f32 operations is what MatMul promises.
template <class Codec>
HWY_INLINE VF32 AddColumn(VU8 c0, VU8 c1, VU8 c2, VU8 c3, VU8 c4, VU8 c5, VU8 c6, VU8 c7, VF32 s0, VF32 m0, VF32 s1,
                          VF32 m1, const matmul::ActivationBlock& x, VF32 acc) {
  const GroupF32 df;
  const VF32 dot0 = hn::ConvertTo(df, DotOf16<Codec::kRange>(c0, c1, c2, c3, x.codes, x.bias[0]));
  const VF32 dot1 = hn::ConvertTo(df, DotOf16<Codec::kRange>(c4, c5, c6, c7, x.codes + 16, x.bias[1]));
  if constexpr (Codec::kScalePer16) {
    acc = hn::MulAdd(hn::Mul(dot0, hn::Set(df, x.scale[0])), s0, acc);
    acc = hn::MulAdd(m0, hn::Set(df, x.sum[0]), acc);
    acc = hn::MulAdd(hn::Mul(dot1, hn::Set(df, x.scale[1])), s1, acc);
    return hn::MulAdd(m1, hn::Set(df, x.sum[1]), acc);
  } else {
    const VF32 dots = hn::MulAdd(dot1, hn::Set(df, x.scale[1]), hn::Mul(dot0, hn::Set(df, x.scale[0])));
    acc = hn::MulAdd(dots, s0, acc);
    return Codec::kHasOffset ? hn::MulAdd(m0, hn::Set(df, x.sum32), acc) : acc;
  }
}

// Bytes of weights fetched ahead in decode. On Sapphire Rapids, in several noisy runs, streamed weights came at 84 to
// 115 % of a plain read with 1024 and at 81 to 105 % without; 2048 was about as good.
inline constexpr size_t kPrefetchAhead = 1024;

// acc[j * GroupRows() + r] += the products of `blocks` blocks of a group with the kCols columns of a tile.
template <class Codec, size_t kCols>
HWY_INLINE void AddGroup(const uint8_t* HWY_RESTRICT w, size_t blocks, const matmul::ActivationBlock* HWY_RESTRICT x,
                         float* HWY_RESTRICT acc) {
  const GroupF32 df;
  const size_t G = GroupRows();
  static_assert(kCols <= 8);
  HWY_ALIGN float table[Codec::kTable * matmul::kMaxGroup + 1];
  VF32 a0 = hn::LoadU(df, acc), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
  if constexpr (kCols > 1) a1 = hn::LoadU(df, acc + G);
  if constexpr (kCols > 2) a2 = hn::LoadU(df, acc + 2 * G), a3 = hn::LoadU(df, acc + 3 * G);
  if constexpr (kCols > 4) {
    a4 = hn::LoadU(df, acc + 4 * G), a5 = hn::LoadU(df, acc + 5 * G);
    a6 = hn::LoadU(df, acc + 6 * G), a7 = hn::LoadU(df, acc + 7 * G);
  }

  for (size_t b = 0; b < blocks; ++b, w += Codec::kBytes * G) {
    if constexpr (kCols == 1) {
      for (size_t at = 0; at < Codec::kBytes * G; at += 64) hwy::Prefetch(w + kPrefetchAhead + at);
    }
    Codec::Prepare(w, G, table);
    for (size_t sub = 0; sub < Codec::kSubBlocks; ++sub, x += kCols) {
      VF32 s0, m0, s1, m1;
      Codec::Scales(w, G, table, sub, s0, m0, s1, m1);
      VU8 c0, c1, c2, c3, c4, c5, c6, c7;
      Codec::Codes(w, G, sub, c0, c1, c2, c3, c4, c5, c6, c7);
#define PRENORM_ADD(j) \
  if constexpr (kCols > j) a##j = AddColumn<Codec>(c0, c1, c2, c3, c4, c5, c6, c7, s0, m0, s1, m1, x[j], a##j)
      PRENORM_ADD(0);
      PRENORM_ADD(1);
      PRENORM_ADD(2);
      PRENORM_ADD(3);
      PRENORM_ADD(4);
      PRENORM_ADD(5);
      PRENORM_ADD(6);
      PRENORM_ADD(7);
#undef PRENORM_ADD
    }
  }

  hn::StoreU(a0, df, acc);
  if constexpr (kCols > 1) hn::StoreU(a1, df, acc + G);
  if constexpr (kCols > 2) hn::StoreU(a2, df, acc + 2 * G), hn::StoreU(a3, df, acc + 3 * G);
  if constexpr (kCols > 4) {
    hn::StoreU(a4, df, acc + 4 * G), hn::StoreU(a5, df, acc + 5 * G);
    hn::StoreU(a6, df, acc + 6 * G), hn::StoreU(a7, df, acc + 7 * G);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
