// Products in f32: every element is 16 partial sums (c mod 16) and a fixed tree, whatever the vector
// length and the tile.

#if defined(PRENORM_KERNELS_MATMUL_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_MATMUL_FLOAT_INL_H_
#undef PRENORM_KERNELS_MATMUL_FLOAT_INL_H_
#else
#define PRENORM_KERNELS_MATMUL_FLOAT_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/matmul_float.h"
#include "kernels/matmul_panel-inl.h"
#include "prenorm/dequantize.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kDotRows = 4;
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_AVX2
inline constexpr size_t kDotCols = 3;  // 12 accumulators, 3 vectors of x and one of w in 16 registers
#else
inline constexpr size_t kDotCols = 4;
#endif

// Rows are short streams, too short for the prefetchers of processors: for one column the next four are fetched ahead.
// acc[(r * kCols + j) * 16 + i mod 16] += w[r][i] * x[j][i] for i < count. The partial sums of one vector after the
// other: a second pass over data in the first-level cache, for half the accumulators where vectors have 8 lanes.
template <size_t kRows, size_t kCols, class T>
HWY_INLINE void AddFloatTile(const T* HWY_RESTRICT w, size_t w_stride, const float* HWY_RESTRICT x, size_t x_stride,
                             size_t count, float* HWY_RESTRICT acc) {
  static_assert(kRows == 1 || kRows == 4);
  static_assert(kCols <= 4);
  const RowTag df;
  const size_t N = hn::Lanes(df);
  using V = hn::Vec<RowTag>;
  for (size_t first = 0; first < kPartialSums; first += N) {
    float* const to = acc + first;
#define PRENORM_AT(r, j) to + (r * kCols + j) * kPartialSums
#define PRENORM_ROW(r)                                                               \
  V s##r##0 = hn::Zero(df), s##r##1 = s##r##0, s##r##2 = s##r##0, s##r##3 = s##r##0; \
  if constexpr (kRows > r) {                                                         \
    s##r##0 = hn::LoadU(df, PRENORM_AT(r, 0));                                       \
    if constexpr (kCols > 1) s##r##1 = hn::LoadU(df, PRENORM_AT(r, 1));              \
    if constexpr (kCols > 2) s##r##2 = hn::LoadU(df, PRENORM_AT(r, 2));              \
    if constexpr (kCols > 3) s##r##3 = hn::LoadU(df, PRENORM_AT(r, 3));              \
  }
    PRENORM_ROW(0)
    PRENORM_ROW(1)
    PRENORM_ROW(2)
    PRENORM_ROW(3)
#undef PRENORM_ROW
#define PRENORM_STEP_ROW(r, load_w)                                 \
  if constexpr (kRows > r) {                                        \
    const V wr = load_w(r);                                         \
    s##r##0 = hn::MulAdd(wr, x0, s##r##0);                          \
    if constexpr (kCols > 1) s##r##1 = hn::MulAdd(wr, x1, s##r##1); \
    if constexpr (kCols > 2) s##r##2 = hn::MulAdd(wr, x2, s##r##2); \
    if constexpr (kCols > 3) s##r##3 = hn::MulAdd(wr, x3, s##r##3); \
  }
#define PRENORM_STEP(load_w, load_x)                                                  \
  if constexpr (kRows == 4 && kCols == 1) {                                           \
    for (size_t r = 0; r < kRows; ++r) hwy::Prefetch(w + (kRows + r) * w_stride + i); \
  }                                                                                   \
  const V x0 = load_x(0);                                                             \
  [[maybe_unused]] V x1 = x0, x2 = x0, x3 = x0;                                       \
  if constexpr (kCols > 1) x1 = load_x(1);                                            \
  if constexpr (kCols > 2) x2 = load_x(2);                                            \
  if constexpr (kCols > 3) x3 = load_x(3);                                            \
  PRENORM_STEP_ROW(0, load_w) PRENORM_STEP_ROW(1, load_w) PRENORM_STEP_ROW(2, load_w) PRENORM_STEP_ROW(3, load_w)
#define PRENORM_LOAD_W(r) LoadF32(df, w + r * w_stride, i)
#define PRENORM_LOAD_X(j) LoadF32(df, x + j * x_stride, i)
#define PRENORM_LOAD_N_W(r) LoadNF32(df, w + r * w_stride, i, count - i)
#define PRENORM_LOAD_N_X(j) LoadNF32(df, x + j * x_stride, i, count - i)
    size_t i = first;
    for (; i + N <= count; i += kPartialSums) {
      PRENORM_STEP(PRENORM_LOAD_W, PRENORM_LOAD_X)
    }
    if (i < count) {
      PRENORM_STEP(PRENORM_LOAD_N_W, PRENORM_LOAD_N_X)
    }
#undef PRENORM_LOAD_W
#undef PRENORM_LOAD_X
#undef PRENORM_LOAD_N_W
#undef PRENORM_LOAD_N_X
#undef PRENORM_STEP
#undef PRENORM_STEP_ROW
#define PRENORM_ROW(r)                                                  \
  if constexpr (kRows > r) {                                            \
    hn::StoreU(s##r##0, df, PRENORM_AT(r, 0));                          \
    if constexpr (kCols > 1) hn::StoreU(s##r##1, df, PRENORM_AT(r, 1)); \
    if constexpr (kCols > 2) hn::StoreU(s##r##2, df, PRENORM_AT(r, 2)); \
    if constexpr (kCols > 3) hn::StoreU(s##r##3, df, PRENORM_AT(r, 3)); \
  }
    PRENORM_ROW(0) PRENORM_ROW(1) PRENORM_ROW(2) PRENORM_ROW(3)
#undef PRENORM_ROW
#undef PRENORM_AT
  }
}

// The tree: lanes i and i + 8, then i and i + 4, i and i + 2, i and i + 1.
HWY_INLINE float SumPartials(const float* s) {
  const hn::FixedTag<float, 4> d4;
  const auto low = hn::Add(hn::LoadU(d4, s), hn::LoadU(d4, s + 8));
  const auto high = hn::Add(hn::LoadU(d4, s + 4), hn::LoadU(d4, s + 12));
  float t[4];
  hn::StoreU(hn::Add(low, high), d4, t);
  return (t[0] + t[2]) + (t[1] + t[3]);
}

template <class T>
HWY_INLINE void AddFloatTileOf(size_t rows, size_t width, const T* w, size_t w_stride, const float* x, size_t x_stride,
                               size_t count, float* acc) {
  if (rows == kDotRows) {
    switch (width) {
      case 1:
        return AddFloatTile<4, 1>(w, w_stride, x, x_stride, count, acc);
      case 2:
        return AddFloatTile<4, 2>(w, w_stride, x, x_stride, count, acc);
      case 3:
        return AddFloatTile<4, 3>(w, w_stride, x, x_stride, count, acc);
      default:
        if constexpr (kDotCols == 4) AddFloatTile<4, 4>(w, w_stride, x, x_stride, count, acc);
        return;
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < width; ++j) {
      AddFloatTile<1, 1>(w + r * w_stride, w_stride, x + j * x_stride, x_stride, count,
                         acc + (r * width + j) * kPartialSums);
    }
  }
}

HWY_INLINE void StoreSums(const float* acc, size_t rows, size_t width, float* out, size_t out_stride, bool accumulate) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < width; ++j, acc += kPartialSums) {
      float& to = out[j * out_stride + r];
      to = (accumulate ? to : 0.0f) + SumPartials(acc);
    }
  }
}

// Weights stored as T, used where they are.
template <class T>
void MatMulPlain(matmul::FloatProduct p) {
  const size_t cols = p.w.cols;
  const T* w = static_cast<const T*>(p.w.data);
  p.row_begin = MultiplyPanels(p, [&](size_t row, float* HWY_RESTRICT out) HWY_ATTR {
    const RowTag df;
    for (size_t c = 0; c < cols; c += hn::Lanes(df)) hn::StoreU(LoadF32(df, w + row * cols, c), df, out + c);
  });
  HWY_ALIGN float acc[kDotRows * kDotCols * kPartialSums];
  constexpr size_t kPanel = 64;  // rows that stay in the second-level cache while the tiles of x pass
  for (size_t panel = p.row_begin; panel < p.row_end; panel += kPanel) {
    const size_t panel_end = std::min(p.row_end, panel + kPanel);
    for (size_t t = 0; t < p.n; t += kDotCols) {
      const size_t width = std::min(kDotCols, p.n - t);
      for (size_t row = panel; row < panel_end; row += kDotRows) {
        const size_t rows = std::min(kDotRows, panel_end - row);
        std::fill_n(acc, rows * width * kPartialSums, 0.0f);
        AddFloatTileOf(rows, width, w + row * cols, cols, p.x + t * cols, cols, cols, acc);
        StoreSums(acc, rows, width, p.out + t * p.out_stride + row, p.out_stride, p.accumulate);
      }
    }
  }
}

// Any other format: a slab of a few rows is dequantized for up to kChunk columns of activations.
inline void MatMulDequantized(matmul::FloatProduct p) {
  constexpr size_t kChunk = 8 * kDotCols;
  constexpr size_t kSlab = 512;  // elements, a multiple of every block length
  const size_t cols = p.w.cols;
  const size_t row_bytes = RowBytes(p.w.type, cols);
  const auto* data = static_cast<const uint8_t*>(p.w.data);
  p.row_begin =
      MultiplyPanels(p, [&](size_t row, float* out) { DequantizeRow(p.w.type, data + row * row_bytes, cols, out); });
  HWY_ALIGN float slab[kDotRows * kSlab];
  HWY_ALIGN float acc[kDotRows * kChunk * kPartialSums];
  for (size_t row = p.row_begin; row < p.row_end; row += kDotRows) {
    const size_t rows = std::min(kDotRows, p.row_end - row);
    for (size_t chunk = 0; chunk < p.n; chunk += kChunk) {
      const size_t chunk_end = std::min(p.n, chunk + kChunk);
      std::fill_n(acc, rows * (chunk_end - chunk) * kPartialSums, 0.0f);
      for (size_t c = 0; c < cols; c += kSlab) {
        const size_t count = std::min(kSlab, cols - c);
        for (size_t r = 0; r < rows; ++r) {
          DequantizeRow(p.w.type, data + (row + r) * row_bytes + RowBytes(p.w.type, c), count, slab + r * kSlab);
        }
        for (size_t t = chunk; t < chunk_end; t += kDotCols) {
          const size_t width = std::min(kDotCols, chunk_end - t);
          AddFloatTileOf(rows, width, slab, kSlab, p.x + t * cols + c, cols, count,
                         acc + (t - chunk) * rows * kPartialSums);
        }
      }
      for (size_t t = chunk; t < chunk_end; t += kDotCols) {
        StoreSums(acc + (t - chunk) * rows * kPartialSums, rows, std::min(kDotCols, chunk_end - t),
                  p.out + t * p.out_stride + row, p.out_stride, p.accumulate);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
