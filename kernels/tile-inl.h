// The tile of a product in f32: C[r][lane] += sum over t of A[r][t] * B[t][lane], each element one chain of fused
// multiply-adds in ascending t, so that what is summed where does not depend on the shape of the tile.

#include <cstddef>

#include "prenorm/types.h"

#ifndef PRENORM_KERNELS_TILE_ROWS_
#define PRENORM_KERNELS_TILE_ROWS_
namespace prenorm {
inline constexpr size_t kTileRows = 6;
}  // namespace prenorm
#endif

#if defined(PRENORM_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_TILE_INL_H_
#undef PRENORM_KERNELS_TILE_INL_H_
#else
#define PRENORM_KERNELS_TILE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of a tile: with 16 registers twelve leave room for the operands, with 32 twice as many.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr size_t kTileSums = 12;
#else
inline constexpr size_t kTileSums = 24;
#endif

// f16 widens exactly, subnormals included.
template <class DF>
HWY_INLINE hn::Vec<DF> LoadF32(DF df, const f16* p, size_t i) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  const hn::Rebind<uint16_t, DF> du16;
  return hn::PromoteTo(df, hn::BitCast(d16, hn::LoadU(du16, &p[i].bits)));
}
template <class DF>
HWY_INLINE hn::Vec<DF> LoadNF32(DF df, const f16* p, size_t i, size_t n) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  const hn::Rebind<uint16_t, DF> du16;
  return hn::PromoteTo(df, hn::BitCast(d16, hn::LoadN(du16, &p[i].bits, n)));
}

template <size_t kVecs, class D, class V>
HWY_INLINE void LoadRow(D df, const float* c, V& v0, V& v1, V& v2, V& v3) {
  const size_t N = hn::Lanes(df);
  v0 = hn::LoadU(df, c);
  if constexpr (kVecs > 1) v1 = hn::LoadU(df, c + N);
  if constexpr (kVecs > 2) {
    v2 = hn::LoadU(df, c + 2 * N);
    v3 = hn::LoadU(df, c + 3 * N);
  }
}

template <size_t kVecs, class D, class V>
HWY_INLINE void AddRow(D df, const float* a, V b0, V b1, V b2, V b3, V& v0, V& v1, V& v2, V& v3) {
  const V factor = hn::Set(df, *a);
  v0 = hn::MulAdd(factor, b0, v0);
  if constexpr (kVecs > 1) v1 = hn::MulAdd(factor, b1, v1);
  if constexpr (kVecs > 2) {
    v2 = hn::MulAdd(factor, b2, v2);
    v3 = hn::MulAdd(factor, b3, v3);
  }
}

template <size_t kVecs, class D, class V>
HWY_INLINE void StoreRow(D df, V v0, V v1, V v2, V v3, float* c) {
  const size_t N = hn::Lanes(df);
  hn::StoreU(v0, df, c);
  if constexpr (kVecs > 1) hn::StoreU(v1, df, c + N);
  if constexpr (kVecs > 2) {
    hn::StoreU(v2, df, c + 2 * N);
    hn::StoreU(v3, df, c + 3 * N);
  }
}

// Operand B: element (t, lane of vector v) at data + t * stride + offset<v> + lane.
template <class T>
struct TileB {
  const T* data;
  size_t stride;
  size_t offset1;
  size_t offset2;
  size_t offset3;
};

// Rows of B that are fetched ahead into L1: a panel streams from L2, one row in the time of kRows * kVecs multiply-adds.
// 8 to 12 % faster with AVX-512; 8 rows give as much, 16 half of it.
inline constexpr size_t kTileAhead = 4;

template <size_t kVecs, class T>
HWY_INLINE void FetchRow(const TileB<T>& tile_b, const T* b) {
  const T* ahead = b + kTileAhead * tile_b.stride;
  hwy::Prefetch(ahead);
  if constexpr (kVecs > 2 && hn::MaxLanes(RowTag()) * sizeof(T) >= 64) {
    hwy::Prefetch(ahead + tile_b.offset1);
    hwy::Prefetch(ahead + tile_b.offset2);
    hwy::Prefetch(ahead + tile_b.offset3);
  }
}

// C[r][v * N + lane] += sum over t < terms of a[r * a_stride + t * kStep] * B[t][v][lane], r < kRows,
// v < kVecs (1, 2, 4).
template <size_t kRows, size_t kVecs, size_t kStep = 1, class D, class T>
void AddTile(D df, const float* HWY_RESTRICT a, size_t a_stride, size_t terms, const TileB<T>& tile_b,
             float* HWY_RESTRICT c, size_t c_stride) {
  using V = hn::Vec<D>;
  static_assert(kRows * kVecs <= kTileSums && kRows <= kTileRows);
  const T* HWY_RESTRICT b = tile_b.data;
  V s00 = hn::Zero(df), s01 = s00, s02 = s00, s03 = s00, s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  V s20 = s00, s21 = s00, s22 = s00, s23 = s00, s30 = s00, s31 = s00, s32 = s00, s33 = s00;
  V s40 = s00, s41 = s00, s42 = s00, s43 = s00, s50 = s00, s51 = s00, s52 = s00, s53 = s00;
  LoadRow<kVecs>(df, c, s00, s01, s02, s03);
  if constexpr (kRows > 1) LoadRow<kVecs>(df, c + c_stride, s10, s11, s12, s13);
  if constexpr (kRows > 2) LoadRow<kVecs>(df, c + 2 * c_stride, s20, s21, s22, s23);
  if constexpr (kRows > 3) LoadRow<kVecs>(df, c + 3 * c_stride, s30, s31, s32, s33);
  if constexpr (kRows > 4) LoadRow<kVecs>(df, c + 4 * c_stride, s40, s41, s42, s43);
  if constexpr (kRows > 5) LoadRow<kVecs>(df, c + 5 * c_stride, s50, s51, s52, s53);
  for (size_t t = 0; t < terms; ++t, b += tile_b.stride) {
    FetchRow<kVecs>(tile_b, b);
    const V b0 = LoadF32(df, b, 0);
    V b1 = b0, b2 = b0, b3 = b0;
    if constexpr (kVecs > 1) b1 = LoadF32(df, b, tile_b.offset1);
    if constexpr (kVecs > 2) {
      b2 = LoadF32(df, b, tile_b.offset2);
      b3 = LoadF32(df, b, tile_b.offset3);
    }
    AddRow<kVecs>(df, a + t * kStep, b0, b1, b2, b3, s00, s01, s02, s03);
    if constexpr (kRows > 1) AddRow<kVecs>(df, a + a_stride + t * kStep, b0, b1, b2, b3, s10, s11, s12, s13);
    if constexpr (kRows > 2) AddRow<kVecs>(df, a + 2 * a_stride + t * kStep, b0, b1, b2, b3, s20, s21, s22, s23);
    if constexpr (kRows > 3) AddRow<kVecs>(df, a + 3 * a_stride + t * kStep, b0, b1, b2, b3, s30, s31, s32, s33);
    if constexpr (kRows > 4) AddRow<kVecs>(df, a + 4 * a_stride + t * kStep, b0, b1, b2, b3, s40, s41, s42, s43);
    if constexpr (kRows > 5) AddRow<kVecs>(df, a + 5 * a_stride + t * kStep, b0, b1, b2, b3, s50, s51, s52, s53);
  }
  StoreRow<kVecs>(df, s00, s01, s02, s03, c);
  if constexpr (kRows > 1) StoreRow<kVecs>(df, s10, s11, s12, s13, c + c_stride);
  if constexpr (kRows > 2) StoreRow<kVecs>(df, s20, s21, s22, s23, c + 2 * c_stride);
  if constexpr (kRows > 3) StoreRow<kVecs>(df, s30, s31, s32, s33, c + 3 * c_stride);
  if constexpr (kRows > 4) StoreRow<kVecs>(df, s40, s41, s42, s43, c + 4 * c_stride);
  if constexpr (kRows > 5) StoreRow<kVecs>(df, s50, s51, s52, s53, c + 5 * c_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_TILE_INL_H_
