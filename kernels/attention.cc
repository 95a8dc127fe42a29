// Attention over a cache, chunk by chunk (include/prenorm/attention.h).
#include "prenorm/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/attention-inl.h"

#ifndef PRENORM_KERNELS_ATTENTION_ROWS_
#define PRENORM_KERNELS_ATTENTION_ROWS_
namespace prenorm {
namespace {

// From this many rows on, a chunk is widened to f32 once for all of them.
constexpr size_t kWidenRows = 13;

// Positions [begin, end) that a row sees, in the whole sequence or in one chunk.
struct Range {
  size_t begin;
  size_t end;
  bool empty() const { return begin >= end; }
};

Range VisibleRange(const AttentionArgs& args, size_t visible_end) {
  const size_t begin = args.window != 0 && visible_end > args.window ? visible_end - args.window : 0;
  return {begin, visible_end};
}

// The part of `range` in a chunk, relative to its first position.
Range InChunk(Range range, size_t chunk) {
  const size_t first = chunk * kAttentionChunk;
  if (range.end <= first || range.begin >= first + kAttentionChunk) return {0, 0};
  return {std::max(range.begin, first) - first, std::min(range.end - first, kAttentionChunk)};
}

// The query rows of a call and what they see.
struct Queries {
  const float* q;
  size_t stride;
  const size_t* visible_end;
  size_t rows;
};

// Smallest range of positions that holds those of all rows.
Range Hull(const AttentionArgs& args, const Queries& queries) {
  Range hull{std::numeric_limits<size_t>::max(), 0};
  for (size_t r = 0; r < queries.rows; ++r) {
    const Range range = VisibleRange(args, queries.visible_end[r]);
    if (range.empty()) continue;
    hull = {std::min(hull.begin, range.begin), std::max(hull.end, range.end)};
  }
  return hull;
}

// Rows of the next tile: as even as possible at the end of the rows.
size_t NextTileRows(size_t remaining, size_t max_rows) {
  if (remaining >= 2 * max_rows || remaining <= max_rows) return std::min(remaining, max_rows);
  return (remaining + 1) / 2;
}

// Hands out aligned parts of the scratch memory.
class Scratch {
 public:
  explicit Scratch(void* memory) : next_((reinterpret_cast<uintptr_t>(memory) + kAlign - 1) / kAlign * kAlign) {}
  float* Floats(size_t count) {
    float* const floats = reinterpret_cast<float*>(next_);
    next_ += (count * sizeof(float) + kAlign - 1) / kAlign * kAlign;
    return floats;
  }
  static constexpr size_t kAlign = 64;

 private:
  uintptr_t next_;
};

}  // namespace
}  // namespace prenorm
#endif  // PRENORM_KERNELS_ATTENTION_ROWS_

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

// Keys and values of one chunk.
template <class T>
struct ChunkKv {
  const T* keys;
  const T* values;
  size_t head_dim;
};

// Working memory of a tile.
struct TileMemory {
  float* scores;  // [kTileRows, kAttentionChunk]
  float* sums;    // [kTileRows, head_dim]
};

// Weighted sums and softmax terms of kRows query rows over one chunk, into memory.sums and softmax[kRows].
template <size_t kRows, class T>
void TileOfRows(const AttentionArgs& args, const ChunkKv<T>& kv, const Queries& queries, const Range* ranges,
                const TileMemory& memory, Softmax* softmax) {
  const size_t head_dim = kv.head_dim;
  Range hull{kAttentionChunk, 0};
  Range common{0, kAttentionChunk};
  for (size_t r = 0; r < kRows; ++r) {
    if (!ranges[r].empty()) hull = {std::min(hull.begin, ranges[r].begin), std::max(hull.end, ranges[r].end)};
    common = {std::max(common.begin, ranges[r].begin), std::min(common.end, ranges[r].end)};
  }
  std::fill_n(memory.sums, kRows * head_dim, 0.0f);
  std::fill_n(softmax, kRows, Softmax{-std::numeric_limits<float>::max(), 0.0f});
  if (hull.empty()) return;

  TileScores<kRows>(queries.q, queries.stride, kv.keys, head_dim, hull.begin, hull.end, memory.scores);
  for (size_t r = 0; r < kRows; ++r) {
    if (ranges[r].empty()) continue;
    softmax[r].max =
        MaskedMax(memory.scores + r * kAttentionChunk, ranges[r].begin, ranges[r].end, args.scale, args.soft_cap);
  }
  // A loop of its own, so that the latencies at the ends of the rows overlap.
  for (size_t r = 0; r < kRows; ++r) {
    if (ranges[r].empty()) continue;
    softmax[r].sum =
        WeightsFromScores(memory.scores + r * kAttentionChunk, ranges[r].begin, ranges[r].end, softmax[r].max);
  }

  // A weight of 0 would not shut out a NaN or Inf value: rows never touch values they do not see.
  if (common.empty()) common = {kAttentionChunk, kAttentionChunk};
  const auto alone = [&](size_t r, size_t begin, size_t end) HWY_ATTR {
    if (begin >= end) return;
    TileSums<1>(memory.scores + r * kAttentionChunk, kv.values, head_dim, begin, end, memory.sums + r * head_dim);
  };
  for (size_t r = 0; r < kRows; ++r) alone(r, ranges[r].begin, std::min(ranges[r].end, common.begin));
  if (common.begin < common.end) {
    TileSums<kRows>(memory.scores, kv.values, head_dim, common.begin, common.end, memory.sums);
    for (size_t r = 0; r < kRows; ++r) alone(r, common.end, ranges[r].end);
  }
}

// As TileOfRows, for 1 to kTileRows rows.
template <class T>
void Tile(const AttentionArgs& args, const ChunkKv<T>& kv, const Queries& queries, const Range* ranges,
          const TileMemory& memory, Softmax* softmax) {
  static_assert(kTileRows == 6);
  switch (queries.rows) {
    case 1:
      return TileOfRows<1>(args, kv, queries, ranges, memory, softmax);
    case 2:
      return TileOfRows<2>(args, kv, queries, ranges, memory, softmax);
    case 3:
      return TileOfRows<3>(args, kv, queries, ranges, memory, softmax);
    case 4:
      return TileOfRows<4>(args, kv, queries, ranges, memory, softmax);
    case 5:
      return TileOfRows<5>(args, kv, queries, ranges, memory, softmax);
    default:
      return TileOfRows<6>(args, kv, queries, ranges, memory, softmax);
  }
}

// Calls done(row, sums, softmax) for each row of a chunk.
template <class T, class Done>
void ForRowsOfChunk(const AttentionArgs& args, const ChunkKv<T>& kv, const Queries& queries, size_t chunk,
                    const TileMemory& memory, const Done& done) {
  for (size_t row = 0; row < queries.rows;) {
    Queries tile{queries.q + row * queries.stride, queries.stride, queries.visible_end + row,
                 NextTileRows(queries.rows - row, kTileRows)};
    Range ranges[kTileRows];
    Softmax softmax[kTileRows];
    for (size_t r = 0; r < tile.rows; ++r) ranges[r] = InChunk(VisibleRange(args, tile.visible_end[r]), chunk);
    Tile(args, kv, tile, ranges, memory, softmax);
    for (size_t r = 0; r < tile.rows; ++r) done(row + r, memory.sums + r * kv.head_dim, softmax[r]);
    row += tile.rows;
  }
}

template <class T>
ChunkKv<T> ChunkOf(const KvHead& cache, size_t chunk) {
  const size_t first = chunk * kAttentionChunk * cache.head_dim;
  return {static_cast<const T*>(cache.keys) + first, static_cast<const T*>(cache.values) + first, cache.head_dim};
}

template <class T>
void Widen(const T* HWY_RESTRICT from, size_t count, float* HWY_RESTRICT to) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  size_t i = 0;
  for (; i + N <= count; i += N) hn::StoreU(LoadF32(df, from, i), df, to + i);
  if (i < count) hn::StoreN(LoadNF32(df, from, i, count - i), df, to + i, count - i);
}

// A chunk's first `end` positions as f32, places unchanged.
template <class T>
void WidenChunk(const KvHead& cache, size_t chunk, size_t end, float* keys, float* values) {
  const ChunkKv<T> kv = ChunkOf<T>(cache, chunk);
  Widen(kv.keys, KeyCapacity(end) * cache.head_dim, keys);
  Widen(kv.values, end * cache.head_dim, values);
}

// Stands for the elements of a Q8_0 cache, which are always widened: scale * code, rounded once.
struct Int8Element {};

// to[i] = codes[i] * scale, `scale` a vector or the same in all lanes.
HWY_INLINE void WidenCodes(const uint8_t* codes, hn::Vec<RowTag> scale, float* to) {
  const RowTag df;
  const hn::RebindToSigned<RowTag> di;
  const hn::Rebind<int8_t, RowTag> d8;
  const auto wide = hn::PromoteTo(di, hn::BitCast(d8, hn::LoadU(hn::RebindToUnsigned<decltype(d8)>(), codes)));
  hn::StoreU(hn::Mul(hn::ConvertTo(df, wide), scale), df, to);
}

template <>
void WidenChunk<Int8Element>(const KvHead& cache, size_t chunk, size_t end, float* keys, float* values) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  const size_t head_dim = cache.head_dim, first = chunk * kAttentionChunk;
  constexpr size_t kRun = 32, kBlockBytes = 34;
  for (size_t p = 0; p < end; p += kKeyBlock) {
    for (size_t d = 0; d < head_dim; d += kRun, keys += kRun * kKeyBlock) {
      const uint8_t* run = static_cast<const uint8_t*>(cache.keys) +
                           ((first + p) / kKeyBlock * head_dim + d) / kRun * (kBlockBytes * kKeyBlock);
      for (size_t lane = 0; lane < kKeyBlock; lane += N) {
        const auto scale = LoadF32(df, reinterpret_cast<const f16*>(run), lane);
        const uint8_t* codes = run + 2 * kKeyBlock + lane;
        for (size_t k = 0; k < kRun; ++k) WidenCodes(codes + k * kKeyBlock, scale, keys + k * kKeyBlock + lane);
      }
    }
  }
  const uint8_t* block = static_cast<const uint8_t*>(cache.values) + first * head_dim / kRun * kBlockBytes;
  for (size_t i = 0; i < end * head_dim; i += kRun, block += kBlockBytes) {
    f16 scale16;
    std::memcpy(&scale16, block, sizeof scale16);
    const auto scale = hn::Set(df, ToF32(scale16));
    for (size_t k = 0; k < kRun; k += N) WidenCodes(block + 2 + k, scale, values + i + k);
  }
}

template <class T>
void AttendRows(const AttentionArgs& args, const Queries& queries, float* out, size_t out_stride, void* scratch) {
  const size_t head_dim = args.cache.head_dim;
  Scratch parts(scratch);
  const TileMemory memory{parts.Floats(kTileRows * kAttentionChunk), parts.Floats(kTileRows * head_dim)};
  Softmax* const totals = reinterpret_cast<Softmax*>(parts.Floats(2 * queries.rows));
  std::fill_n(totals, queries.rows, Softmax{-std::numeric_limits<float>::max(), 0.0f});
  const auto merge = [&](size_t row, const float* sums, Softmax softmax)
                         HWY_ATTR { MergeRow(sums, softmax, head_dim, out + row * out_stride, totals[row]); };

  constexpr bool kInt8 = std::is_same_v<T, Int8Element>;
  const bool widen = kInt8 || (!std::is_same_v<T, float> && queries.rows >= kWidenRows);
  const size_t wide_floats = widen ? kAttentionChunk * head_dim : 0;
  float* const wide_keys = parts.Floats(wide_floats);
  float* const wide_values = parts.Floats(wide_floats);

  const Range hull = Hull(args, queries);
  for (size_t chunk = hull.begin / kAttentionChunk; chunk * kAttentionChunk < hull.end; ++chunk) {
    if (widen) {
      // From the first position on, so that places stay the same: at most one chunk of a window is widened in vain.
      WidenChunk<T>(args.cache, chunk, InChunk(hull, chunk).end, wide_keys, wide_values);
      ForRowsOfChunk(args, ChunkKv<float>{wide_keys, wide_values, head_dim}, queries, chunk, memory, merge);
    } else if constexpr (!kInt8) {
      ForRowsOfChunk(args, ChunkOf<T>(args.cache, chunk), queries, chunk, memory, merge);
    }
  }
  for (size_t r = 0; r < queries.rows; ++r) NormalizeRow(totals[r], head_dim, out + r * out_stride);
}

template <class T>
void AttendChunk(const AttentionArgs& args, const Queries& queries, size_t chunk, float* partials, void* scratch) {
  const size_t head_dim = args.cache.head_dim;
  Scratch parts(scratch);
  const TileMemory memory{parts.Floats(kTileRows * kAttentionChunk), parts.Floats(kTileRows * head_dim)};
  const auto store = [&](size_t row, const float* sums, Softmax softmax) {
    float* const partial = partials + row * AttentionPartialFloats(head_dim);
    std::copy_n(sums, head_dim, partial);
    partial[head_dim] = softmax.max;
    partial[head_dim + 1] = softmax.sum;
  };
  if constexpr (std::is_same_v<T, Int8Element>) {
    float* const keys = parts.Floats(kAttentionChunk * head_dim);
    float* const values = parts.Floats(kAttentionChunk * head_dim);
    WidenChunk<T>(args.cache, chunk, InChunk(Hull(args, queries), chunk).end, keys, values);
    ForRowsOfChunk(args, ChunkKv<float>{keys, values, head_dim}, queries, chunk, memory, store);
  } else {
    ForRowsOfChunk(args, ChunkOf<T>(args.cache, chunk), queries, chunk, memory, store);
  }
}

void AttendRowsOf(const AttentionArgs& args, const Queries& queries, float* out, size_t out_stride, void* scratch) {
  switch (args.cache.type) {
    case DType::kF32:
      return AttendRows<float>(args, queries, out, out_stride, scratch);
    case DType::kQ8_0:
      return AttendRows<Int8Element>(args, queries, out, out_stride, scratch);
    case DType::kF16:
      return AttendRows<f16>(args, queries, out, out_stride, scratch);
    default:
      return AttendRows<bf16>(args, queries, out, out_stride, scratch);
  }
}

void AttendChunkOf(const AttentionArgs& args, const Queries& queries, size_t chunk, float* partials, void* scratch) {
  switch (args.cache.type) {
    case DType::kF32:
      return AttendChunk<float>(args, queries, chunk, partials, scratch);
    case DType::kQ8_0:
      return AttendChunk<Int8Element>(args, queries, chunk, partials, scratch);
    case DType::kF16:
      return AttendChunk<f16>(args, queries, chunk, partials, scratch);
    default:
      return AttendChunk<bf16>(args, queries, chunk, partials, scratch);
  }
}

void MergePartials(const float* partials, size_t n_chunks, size_t n_rows, size_t head_dim, float* out,
                   size_t out_stride) {
  const size_t row_floats = AttentionPartialFloats(head_dim);
  for (size_t r = 0; r < n_rows; ++r) {
    Softmax total{-std::numeric_limits<float>::max(), 0.0f};
    for (size_t c = 0; c < n_chunks; ++c) {
      const float* const partial = partials + (c * n_rows + r) * row_floats;
      MergeRow(partial, Softmax{partial[head_dim], partial[head_dim + 1]}, head_dim, out + r * out_stride, total);
    }
    NormalizeRow(total, head_dim, out + r * out_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_EXPORT(AttendRowsOf);
HWY_EXPORT(AttendChunkOf);
HWY_EXPORT(MergePartials);
}  // namespace

size_t AttentionScratchBytes(size_t n_rows, size_t head_dim, DType cache_type) {
  const auto part = [](size_t floats) { return floats * sizeof(float) + Scratch::kAlign; };
  const size_t wide = n_rows >= kWidenRows || cache_type == DType::kQ8_0 ? kAttentionChunk * head_dim : 0;
  return Scratch::kAlign + part(kTileRows * kAttentionChunk) + part(kTileRows * head_dim) + part(2 * n_rows) +
         2 * part(wide);
}

void Attention(const AttentionArgs& args, const float* q, size_t q_stride, const size_t* visible_end, size_t n_rows,
               float* out, size_t out_stride, void* scratch) {
  HWY_DASSERT(IsKvType(args.cache.type));
  HWY_DYNAMIC_DISPATCH(AttendRowsOf)(args, {q, q_stride, visible_end, n_rows}, out, out_stride, scratch);
}

void AttentionChunk(const AttentionArgs& args, const float* q, size_t q_stride, const size_t* visible_end,
                    size_t n_rows, size_t chunk, float* partials, void* scratch) {
  HWY_DASSERT(IsKvType(args.cache.type));
  HWY_DYNAMIC_DISPATCH(AttendChunkOf)(args, {q, q_stride, visible_end, n_rows}, chunk, partials, scratch);
}

void AttentionMerge(const float* partials, size_t n_chunks, size_t n_rows, size_t head_dim, float* out,
                    size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(MergePartials)(partials, n_chunks, n_rows, head_dim, out, out_stride);
}

}  // namespace prenorm
#endif  // HWY_ONCE
