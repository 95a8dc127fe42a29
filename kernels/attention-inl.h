// One chunk of attention for a tile of up to six query rows: scores, softmax weights, weighted sum of values.
//
// Scores and weighted sums are both tiles of kernels/tile-inl.h.

#include <cstddef>
#include <cstdint>

#include "prenorm/attention.h"

#if defined(PRENORM_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_ATTENTION_INL_H_
#undef PRENORM_KERNELS_ATTENTION_INL_H_
#else
#define PRENORM_KERNELS_ATTENTION_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/activation-inl.h"
#include "kernels/convert-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scores are computed and summed in blocks of 16 positions on every target. A vector never crosses a block.
inline constexpr size_t kScoreBlock = 16;
static_assert(hn::MaxLanes(RowTag()) <= kScoreBlock && kKeyBlock % kScoreBlock == 0);

// scores[r][p] = q[r] . key[p] for the blocks that hold [begin, end) of a chunk; `keys` is the chunk's first element.
template <size_t kRows, class T>
void TileScores(const float* q, size_t q_stride, const T* keys, size_t head_dim, size_t begin, size_t end,
                float* HWY_RESTRICT scores) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  constexpr size_t kWide = kRows * 4 <= kTileSums ? 4 : 2;
  begin = begin / kScoreBlock * kScoreBlock;
  end = hwy::RoundUpTo(end, kScoreBlock);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t p = begin; p < end; p += N) hn::StoreU(hn::Zero(df), df, scores + r * kAttentionChunk + p);
  }
  size_t p = begin;
  const auto tile_at = [&](size_t position) {
    const size_t base = KeyIndex(position, 0, head_dim);
    return TileB<T>{keys + base, kKeyBlock, KeyIndex(position + N, 0, head_dim) - base,
                    KeyIndex(position + 2 * N, 0, head_dim) - base, KeyIndex(position + 3 * N, 0, head_dim) - base};
  };
  for (; p + kWide * N <= end; p += kWide * N) {
    AddTile<kRows, kWide>(df, q, q_stride, head_dim, tile_at(p), scores + p, kAttentionChunk);
  }
  if (kWide == 4 && p + 2 * N <= end) {
    AddTile<kRows, 2>(df, q, q_stride, head_dim, tile_at(p), scores + p, kAttentionChunk);
    p += 2 * N;
  }
  if (p < end) AddTile<kRows, 1>(df, q, q_stride, head_dim, tile_at(p), scores + p, kAttentionChunk);
}

// sums[r][d] += sum over p in [begin, end) of weights[r][p] * values[p][d]; rows of `values` are contiguous.
template <size_t kRows, class T>
void TileSums(const float* HWY_RESTRICT weights, const T* HWY_RESTRICT values, size_t head_dim, size_t begin,
              size_t end, float* HWY_RESTRICT sums) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  constexpr size_t kWide = kRows * 4 <= kTileSums ? 4 : 2;
  // The columns of the tile return to the same values: 64 rows of 64 f32 are 16 KB and stay in the first-level cache.
  constexpr size_t kBlock = 64;
  for (; begin < end; begin += kBlock) {
    const size_t terms = HWY_MIN(kBlock, end - begin);
    const float* HWY_RESTRICT w = weights + begin;
    const T* HWY_RESTRICT v = values + begin * head_dim;
    size_t d = 0;
    const auto tile_at = [&](size_t column) { return TileB<T>{v + column, head_dim, N, 2 * N, 3 * N}; };
    for (; d + kWide * N <= head_dim; d += kWide * N) {
      AddTile<kRows, kWide>(df, w, kAttentionChunk, terms, tile_at(d), sums + d, head_dim);
    }
    if (kWide == 4 && d + 2 * N <= head_dim) {
      AddTile<kRows, 2>(df, w, kAttentionChunk, terms, tile_at(d), sums + d, head_dim);
      d += 2 * N;
    }
    if (d + N <= head_dim) {
      AddTile<kRows, 1>(df, w, kAttentionChunk, terms, tile_at(d), sums + d, head_dim);
      d += N;
    }
    const size_t remaining = head_dim - d;
    for (size_t r = 0; remaining != 0 && r < kRows; ++r) {
      float* HWY_RESTRICT c = sums + r * head_dim + d;
      auto sum = hn::LoadN(df, c, remaining);
      for (size_t t = 0; t < terms; ++t) {
        const auto value = LoadNF32(df, v, t * head_dim + d, remaining);
        sum = hn::MulAdd(hn::Set(df, w[r * kAttentionChunk + t]), value, sum);
      }
      hn::StoreN(sum, df, c, remaining);
    }
  }
}

struct Softmax {
  float max;  // Of the scores; never below -FLT_MAX.
  float sum;  // Of e^(score - max).
};

// Turns the products of positions [begin, end) into scores, those of the other elements of whole score blocks into
// -Inf; returns the maximum. A NaN may get lost in it: its own weight will be NaN.
inline float MaskedMax(float* HWY_RESTRICT scores, size_t begin, size_t end, float scale, float soft_cap) {
  const RowTag df;
  const hn::RebindToSigned<RowTag> di;
  const size_t N = hn::Lanes(df);
  const auto masked = hn::Neg(hn::Inf(df));
  const auto scale_vec = hn::Set(df, scale);
  const auto cap = hn::Set(df, soft_cap);
  auto max = hn::Set(df, -hwy::HighestValue<float>());
  const size_t block_end = hwy::RoundUpTo(end, kScoreBlock);
  for (size_t p = begin / kScoreBlock * kScoreBlock; p < block_end; p += N) {
    auto score = hn::Mul(hn::LoadU(df, scores + p), scale_vec);
    if (soft_cap > 0.0f) score = SoftCapped(df, score, cap);
    if (p < begin || p + N > end) {
      const auto place = hn::Iota(di, static_cast<int32_t>(p));
      const auto outside = hn::Or(hn::Lt(place, hn::Set(di, static_cast<int32_t>(begin))),
                                  hn::Ge(place, hn::Set(di, static_cast<int32_t>(end))));
      score = hn::IfThenElse(hn::RebindMask(df, outside), masked, score);
    }
    hn::StoreU(score, df, scores + p);
    max = hn::Max(score, max);
  }
  return hn::ReduceMax(df, max);
}

// Turns the scores of the blocks that hold [begin, end) into weights e^(score - max) and returns their sum. It has 16
// virtual lanes, position modulo 16, on every target.
inline float WeightsFromScores(float* HWY_RESTRICT scores, size_t begin, size_t end, float max) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  const auto max_vec = hn::Set(df, max);
  const size_t block_begin = begin / kScoreBlock * kScoreBlock;
  const size_t block_end = hwy::RoundUpTo(end, kScoreBlock);
  HWY_ALIGN float lanes[kScoreBlock];
  for (size_t lane = 0; lane < kScoreBlock; lane += N) {
    auto sum = hn::Zero(df);
    for (size_t p = block_begin + lane; p < block_end; p += kScoreBlock) {
      const auto weight = FastExp(df, hn::Sub(hn::LoadU(df, scores + p), max_vec));
      hn::StoreU(weight, df, scores + p);
      sum = hn::Add(sum, weight);
    }
    hn::StoreU(sum, df, lanes + lane);
  }
  for (size_t half = kScoreBlock / 2; half != 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Merges the result of a chunk into that of the chunks before it. A sum of 0 means that nothing was seen.
inline void MergeRow(const float* HWY_RESTRICT part, Softmax part_softmax, size_t head_dim, float* HWY_RESTRICT out,
                     Softmax& softmax) {
  if (part_softmax.sum == 0.0f) return;
  const RowTag df;
  const size_t N = hn::Lanes(df);
  if (softmax.sum == 0.0f) {
    for (size_t d = 0; d < head_dim; ++d) out[d] = part[d];
    softmax = part_softmax;
    return;
  }
  const float max = HWY_MAX(softmax.max, part_softmax.max);
  const auto out_factor = FastExp(df, hn::Set(df, softmax.max - max));
  const auto part_factor = FastExp(df, hn::Set(df, part_softmax.max - max));
  size_t d = 0;
  for (; d + N <= head_dim; d += N) {
    const auto scaled = hn::Mul(hn::LoadU(df, out + d), out_factor);
    hn::StoreU(hn::MulAdd(hn::LoadU(df, part + d), part_factor, scaled), df, out + d);
  }
  if (const size_t remaining = head_dim - d; remaining != 0) {
    const auto scaled = hn::Mul(hn::LoadN(df, out + d, remaining), out_factor);
    hn::StoreN(hn::MulAdd(hn::LoadN(df, part + d, remaining), part_factor, scaled), df, out + d, remaining);
  }
  softmax.sum = softmax.sum * hn::GetLane(out_factor) + part_softmax.sum * hn::GetLane(part_factor);
  softmax.max = max;
}

// out /= sum; zeros where nothing was seen.
inline void NormalizeRow(Softmax softmax, size_t head_dim, float* HWY_RESTRICT out) {
  if (softmax.sum == 0.0f) {
    for (size_t d = 0; d < head_dim; ++d) out[d] = 0.0f;
    return;
  }
  // Scalar and vector division are both correctly rounded: the compiler may choose.
  for (size_t d = 0; d < head_dim; ++d) out[d] /= softmax.sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_ATTENTION_INL_H_
