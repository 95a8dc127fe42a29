// Products in f32 with many columns: a panel of rows is widened and transposed once, then lanes are rows and nothing is
// ever summed across lanes. The bits are those of matmul_float-inl.h: the 16 partial sums of an element are 16 chains
// of their own, one after the other, over a panel that is stored in that order.

#if defined(PRENORM_KERNELS_MATMUL_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_PANEL_INL_H_
#undef PRENORM_KERNELS_MATMUL_PANEL_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_PANEL_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/matmul_float.h"
#include "kernels/tile-inl.h"
#include "prenorm/matmul_panels.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kPartialSums = 16;  // per element

// From this many columns on, the transposition of a panel is paid back.
inline constexpr size_t kPanelColumns = 12;

HWY_INLINE bool UsesPanels(const matmul::FloatProduct& p) {
  return p.scratch != nullptr && p.n >= kPanelColumns && p.w.cols % kPartialSums == 0;
}

// The parts of MatMulScratchBytes.
struct PanelMemory {
  float* panel;  // [16, cols / 16, rows of the panel]
  float* rows;   // [16, cols + 16], rows on their way into the panel
  float* sums;   // [16, kTileRows, rows of the panel]
};

HWY_INLINE PanelMemory PanelMemoryOf(const matmul::FloatProduct& p) {
  auto* base = static_cast<float*>(p.scratch);
  float* rows = base + p.w.cols * matmul::kMaxPanelRows;
  return {base, rows, rows + kPartialSums * (p.w.cols + kPartialSums)};
}

// The panel of `kRows` rows from `first` on; read(row, out) widens one row.
template <size_t kRows, class ReadRow>
void FillPanel(size_t first, size_t cols, const PanelMemory& memory, const ReadRow& read) {
  const size_t stride = cols + kPartialSums;  // Not a power of two, which would be few sets of the cache.
  const size_t terms = cols / kPartialSums;
  for (size_t begin = 0; begin < kRows; begin += kPartialSums) {
    const size_t count = std::min(kPartialSums, kRows - begin);
    for (size_t r = 0; r < count; ++r) read(first + begin + r, memory.rows + r * stride);
    for (size_t c = 0; c < cols; ++c) {
      float* HWY_RESTRICT to = memory.panel + (c % kPartialSums * terms + c / kPartialSums) * kRows + begin;
      const float* HWY_RESTRICT from = memory.rows + c;
      for (size_t r = 0; r < count; ++r) to[r] = from[r * stride];
    }
  }
}

// One chain of every element of a tile of `width` columns.
template <size_t kVecs>
HWY_INLINE void AddChain(size_t width, const float* x, size_t cols, const TileB<float>& b, float* sums, size_t rows) {
  const RowTag df;
  const size_t terms = cols / kPartialSums;
  switch (width) {
    case 1:
      return AddTile<1, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
    case 2:
      return AddTile<2, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
    case 3:
      return AddTile<3, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
    case 4:
      return AddTile<4, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
    case 5:
      return AddTile<5, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
    default:
      return AddTile<6, kVecs, kPartialSums>(df, x, cols, terms, b, sums, rows);
  }
}

// The tree of SumPartials, for the rows in the lanes: chains i and i + 8, then i and i + 4, i and i + 2, i and i + 1.
template <class DF>
HWY_INLINE hn::Vec<DF> TreeOfChains(DF df, const float* s, size_t stride) {
  const auto four = [&](size_t i) HWY_ATTR {
    const float* at = s + i * stride;
    return hn::Add(hn::Add(hn::LoadU(df, at), hn::LoadU(df, at + 8 * stride)),
                   hn::Add(hn::LoadU(df, at + 4 * stride), hn::LoadU(df, at + 12 * stride)));
  };
  return hn::Add(hn::Add(four(0), four(2)), hn::Add(four(1), four(3)));
}

// Rows [row, row + kVecs * lanes) of the product.
template <size_t kVecs, class ReadRow>
void MultiplyPanel(const matmul::FloatProduct& p, size_t row, const ReadRow& read) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  constexpr size_t kRows = kVecs * hn::MaxLanes(RowTag());
  const size_t cols = p.w.cols, terms = cols / kPartialSums;
  const PanelMemory memory = PanelMemoryOf(p);
  FillPanel<kRows>(row, cols, memory, read);
  for (size_t t = 0; t < p.n; t += kTileRows) {
    const size_t width = std::min(kTileRows, p.n - t);
    std::fill_n(memory.sums, kPartialSums * width * kRows, 0.0f);
    for (size_t chain = 0; chain < kPartialSums; ++chain) {
      const TileB<float> b{memory.panel + chain * terms * kRows, kRows, N, 2 * N, 3 * N};
      AddChain<kVecs>(width, p.x + t * cols + chain, cols, b, memory.sums + chain * width * kRows, kRows);
    }
    for (size_t j = 0; j < width; ++j) {
      float* out = p.out + (t + j) * p.out_stride + row;
      for (size_t r = 0; r < kRows; r += N) {
        const auto sum = TreeOfChains(df, memory.sums + j * kRows + r, width * kRows);
        hn::StoreU(hn::Add(p.accumulate ? hn::LoadU(df, out + r) : hn::Zero(df), sum), df, out + r);
      }
    }
  }
}

// As many rows from p.row_begin on as fill panels; returns the first row that is left.
template <class ReadRow>
size_t MultiplyPanels(const matmul::FloatProduct& p, const ReadRow& read) {
  constexpr size_t kWide = kTileSums / kTileRows;  // 4 or 2 vectors of rows
  constexpr size_t N = hn::MaxLanes(RowTag());
  size_t row = p.row_begin;
  if (!UsesPanels(p) || hn::Lanes(RowTag()) != N) return row;  // Vectors of unknown length may be shorter than N.
  for (; row + kWide * N <= p.row_end; row += kWide * N) MultiplyPanel<kWide>(p, row, read);
  for (; kWide > 2 && row + 2 * N <= p.row_end; row += 2 * N) MultiplyPanel<2>(p, row, read);
  for (; row + N <= p.row_end; row += N) MultiplyPanel<1>(p, row, read);
  return row;
}

// The sums of a tile of `width` rows of x with kVecs vectors of a packed panel's rows.
template <size_t kVecs>
HWY_INLINE void AddPackedTile(size_t width, const float* x, size_t cols, const TileB<float>& b, float* sums) {
  const RowTag df;
  switch (width) {
    case 1:
      return AddTile<1, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
    case 2:
      return AddTile<2, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
    case 3:
      return AddTile<3, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
    case 4:
      return AddTile<4, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
    case 5:
      return AddTile<5, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
    default:
      return AddTile<6, kVecs>(df, x, cols, cols, b, sums, kPanelRows);
  }
}

inline void MultiplyPacked(const matmul::PanelProduct& p) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  constexpr size_t kVecs = kTileSums / kTileRows;
  HWY_ALIGN float sums[kTileRows * kPanelRows];
  for (size_t t = 0; t < p.n; t += kTileRows) {
    const size_t width = std::min(kTileRows, p.n - t);
    std::fill_n(sums, width * kPanelRows, 0.0f);
    for (size_t r = 0; r < p.rows; r += kVecs * N) {
      AddPackedTile<kVecs>(width, p.x + t * p.cols, p.cols, {p.panel + r, kPanelRows, N, 2 * N, 3 * N}, sums + r);
    }
    for (size_t j = 0; j < width; ++j) {
      float* HWY_RESTRICT out = p.out + (t + j) * p.out_stride;
      for (size_t r = 0; r < p.rows; r += N) {
        const size_t lanes = std::min(N, p.rows - r);
        auto value = hn::LoadU(df, sums + j * kPanelRows + r);
        if (p.bias != nullptr) value = hn::Add(value, hn::LoadN(df, p.bias + r, lanes));
        if (p.accumulate) value = hn::Add(value, hn::LoadN(df, out + r, lanes));
        hn::StoreN(value, df, out + r, lanes);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
