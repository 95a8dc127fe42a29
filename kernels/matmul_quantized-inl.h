// The product of one quantized matrix: walks groups of rows and tiles of columns.

#if defined(PRENORM_KERNELS_MATMUL_QUANTIZED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_QUANTIZED_INL_H_
#undef PRENORM_KERNELS_MATMUL_QUANTIZED_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_QUANTIZED_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/matmul_codecs-inl.h"
#include "kernels/matmul_dot-inl.h"
#include "kernels/matmul_expanded-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AddGroup for a tile of `width` columns, a power of two.
template <class Codec>
HWY_INLINE void AddTile(size_t width, const uint8_t* w, size_t blocks, const matmul::ActivationBlock* x, float* acc) {
  switch (width) {
    case 1:
      return AddGroup<Codec, 1>(w, blocks, x, acc);
    case 2:
      return AddGroup<Codec, 2>(w, blocks, x, acc);
    case 4:
      return AddGroup<Codec, 4>(w, blocks, x, acc);
    default:
      if constexpr (kTile == 8) AddGroup<Codec, 8>(w, blocks, x, acc);
  }
}

// Adds rows [first, first + count) of a group, `skip` rows into its accumulators, to out or stores them there.
HWY_INLINE void StoreTile(const float* HWY_RESTRICT acc, size_t width, size_t skip, size_t count,
                          float* HWY_RESTRICT out, size_t out_stride, bool accumulate) {
  const GroupF32 df;
  const size_t G = GroupRows();
  for (size_t j = 0; j < width; ++j, acc += G, out += out_stride) {
    if (count == G) {
      VF32 v = hn::LoadU(df, acc);
      if (accumulate) v = hn::Add(hn::LoadU(df, out), v);
      hn::StoreU(v, df, out);
    } else {
      for (size_t r = 0; r < count; ++r) out[r] = (accumulate ? out[r] : 0.0f) + acc[skip + r];
    }
  }
}

// acc = the products of the group that begins with group_row and the tile at x.
template <class Codec>
HWY_INLINE void GroupTile(const matmul::Int8Product& p, size_t group_row, size_t interleaved_rows, size_t width,
                          const matmul::ActivationBlock* x, float* HWY_RESTRICT acc) {
  const size_t G = GroupRows();
  const size_t blocks = p.w.cols / (32 * Codec::kSubBlocks);
  const size_t row_bytes = blocks * Codec::kBytes;
  const uint8_t* group = static_cast<const uint8_t*>(p.w.data) + group_row * row_bytes;
  std::fill_n(acc, width * G, 0.0f);
  if (group_row < interleaved_rows) return AddTile<Codec>(width, group, blocks, x, acc);
  // Rows past the last whole group: the same arithmetic on a copy of a few blocks at a time.
  constexpr size_t kStep = 8 / Codec::kSubBlocks;
  alignas(64) uint8_t copy[kStep * Codec::kBytes * matmul::kMaxGroup];
  const size_t rows = std::min(G, p.w.rows - group_row);
  for (size_t b = 0; b < blocks; b += kStep) {
    const size_t count = std::min(kStep, blocks - b);
    matmul::InterleaveBlocks(p.w.type, group + b * Codec::kBytes, row_bytes, rows, count, G, copy);
    AddTile<Codec>(width, copy, count, x + b * Codec::kSubBlocks * width, acc);
  }
}

// A panel of weights stays in the second-level cache while the tiles of activations pass, each of which stays in the
// first. The packed weights are the smaller stream of the two: the other order had two thirds of the
// speed at 512 columns on Sapphire Rapids and nine tenths with AVX2 (Q4_1). Unpacked codes and scales brought prompts
// of 512 tokens 6 to 9 % on Sapphire Rapids, and 7 (Q4_1) to 23 % (Q5_0, Q4_K, Q6_K) with AVX2.
inline constexpr size_t kPanelBytes = size_t{192} * 1024;

template <class Codec>
void MatMulQuantized(const matmul::Int8Product& p) {
  const size_t G = GroupRows();
  const size_t blocks32 = p.w.cols / 32;
  const size_t group_bytes = G * (blocks32 / Codec::kSubBlocks) * Codec::kBytes;
  const size_t expanded_bytes = G * blocks32 * Expanded<Codec>::kBytes;
  const size_t interleaved_rows = p.w.interleaved ? p.w.rows / G * G : 0;
  const bool expand = p.scratch != nullptr && p.n >= kExpandColumns && interleaved_rows != 0;
  size_t panel_rows = std::max<size_t>(1, kPanelBytes / std::max<size_t>(1, expand ? expanded_bytes : group_bytes)) * G;
  if (expand) panel_rows = std::min(panel_rows, matmul::kMaxExpandedRows);
  auto* expanded = static_cast<uint8_t*>(p.scratch);
  HWY_ALIGN float acc[kTile * matmul::kMaxGroup];

  for (size_t panel = p.row_begin; panel < p.row_end;) {
    const size_t first_row = panel / G * G;
    const size_t panel_end = std::min(p.row_end, first_row + panel_rows);
    const size_t expanded_end = expand ? std::min(panel_end, interleaved_rows) : 0;
    for (size_t row = first_row; row < expanded_end; row += G) {
      ExpandGroup<Codec>(static_cast<const uint8_t*>(p.w.data) + row / G * group_bytes, blocks32 / Codec::kSubBlocks,
                         expanded + (row - first_row) / G * expanded_bytes);
    }
    for (size_t t = 0; t < p.n;) {
      const size_t width = matmul::TileWidth(kTile, p.n - t);
      const matmul::ActivationBlock* x = p.x + t * blocks32;
      for (size_t row = panel; row < panel_end;) {
        const size_t group_row = row / G * G;
        const size_t end = std::min(panel_end, group_row + G);
        if (width == kTile && group_row < expanded_end) {
          std::fill_n(acc, kTile * G, 0.0f);
          AddGroup<Expanded<Codec>, kTile>(expanded + (group_row - first_row) / G * expanded_bytes, blocks32, x, acc);
        } else {
          GroupTile<Codec>(p, group_row, interleaved_rows, width, x, acc);
        }
        StoreTile(acc, width, row - group_row, end - row, p.out + t * p.out_stride + row, p.out_stride, p.accumulate);
        row = end;
      }
      t += width;
    }
    panel = panel_end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
