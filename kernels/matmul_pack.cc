// Packs activations for products: int8 codes with a scale per 16 elements, tiles of rows interleaved by block; with the
// pieces of a deferred norm, whose sums of squares come before the pack and whose factor goes into its scales.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_pack.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_dot-inl.h"

#include "prenorm/deferred_norm.h"

#include <bit>
#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements i, i + 1, ... of a row, times their gain unless that is null.
template <class DF>
HWY_INLINE hn::Vec<DF> LoadGained(DF df, const float* HWY_RESTRICT x, const float* HWY_RESTRICT gain, size_t i) {
  const auto v = hn::LoadU(df, x + i);
  return gain == nullptr ? v : hn::Mul(v, hn::LoadU(df, gain + i));
}

// Codes of 16 elements and their scale times `factor`; the sums are exact integers, rounded once in sum.
HWY_INLINE void Quantize16(const float* HWY_RESTRICT x, const float* HWY_RESTRICT gain, float factor, size_t half,
                           matmul::ActivationBlock& block) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<int16_t, decltype(df)> d16;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const size_t N = hn::Lanes(df);

  // The greatest magnitude by its bits, so that NaN counts as greatest on every target.
  auto max_bits = hn::Zero(di);
  for (size_t i = 0; i < 16; i += N) max_bits = hn::Max(max_bits, hn::BitCast(di, hn::Abs(LoadGained(df, x, gain, i))));
  const float max = std::bit_cast<float>(hn::ReduceMax(di, max_bits));
  // Below 1e-30 the inverse could overflow. The comparison is false for NaN, which goes on into the scale and the sums.
  const bool tiny = max < 1e-30f;
  const float inverse = tiny ? 0.0f : 127.0f / max;
  block.scale[half] = tiny ? 0.0f : max * (1.0f / 127.0f) * factor;

  // Rounding keeps finite codes within 127; those of NaN and Inf do not matter beside such a scale.
  int8_t* const codes = block.codes + 16 * half;
  for (size_t i = 0; i < 16; i += N) {
    const auto code = hn::NearestInt(hn::Mul(LoadGained(df, x, gain, i), hn::Set(df, inverse)));
    hn::StoreU(hn::DemoteTo(d8, hn::DemoteTo(d16, code)), d8, codes + i);
  }
  // The sum of codes + 128 in two runs of eight.
  const hn::FixedTag<int8_t, 16> d_codes;
  const hn::RebindToUnsigned<decltype(d_codes)> d_unsigned;
  const auto biased = hn::Xor(hn::BitCast(d_unsigned, hn::LoadU(d_codes, codes)), hn::Set(d_unsigned, uint8_t{0x80}));
  const auto sums = hn::SumsOf8(biased);
  const auto sum = static_cast<int32_t>(hn::GetLane(sums) + hn::ExtractLane(sums, 1)) - 16 * 128;
  block.bias[half] = -128 * sum;
  block.sum[half] = block.scale[half] * static_cast<float>(sum);
}

void PackInt8(const float* x, size_t x_stride, size_t cols, size_t begin, size_t end, size_t n, const float* gain,
              const float* factors, matmul::ActivationBlock* pack) {
  const size_t blocks = cols / 32;
  for (size_t t = begin; t < end;) {
    const size_t width = matmul::TileWidth(kTile, n - t);
    for (size_t j = 0; j < width; ++j) {
      const float* row = x + (t + j) * x_stride;
      const float factor = factors == nullptr ? 1.0f : factors[t + j];
      matmul::ActivationBlock* to = pack + t * blocks + j;
      for (size_t b = 0; b < blocks; ++b, to += width) {
        const float* block_gain = gain == nullptr ? nullptr : gain + 32 * b;
        Quantize16(row + 32 * b, block_gain, factor, 0, *to);
        Quantize16(row + 32 * b + 16, gain == nullptr ? nullptr : block_gain + 16, factor, 1, *to);
        to->sum32 = to->sum[0] + to->sum[1];
        to->unused = 0;
      }
    }
    t += width;
  }
}

// rows[t] = (factor * gain) * x, for products in f32: the same two roundings as a norm that knows its factor.
void ScaleRows(const float* x, size_t x_stride, size_t cols, size_t begin, size_t end, const float* gain,
               const float* factors, float* rows) {
  const hn::ScalableTag<float> df;
  const size_t N = hn::Lanes(df);
  for (size_t t = begin; t < end; ++t) {
    const float* HWY_RESTRICT from = x + t * x_stride;
    float* HWY_RESTRICT to = rows + t * cols;
    const auto factor = hn::Set(df, factors[t]);
    size_t c = 0;
    for (; c + N <= cols; c += N) {
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(df, from + c), factor), hn::LoadU(df, gain + c)), df, to + c);
    }
    for (; c < cols; ++c) to[c] = from[c] * factors[t] * gain[c];
  }
}

// Squares of f32 are exact in f64, fused or not, so that one order of additions gives one result: 8 sums of two, then a
// tree that adds the upper half to the lower.
template <class DD, class V>
HWY_INLINE double SumOfHalves(DD, V v) {
  if constexpr (HWY_MAX_LANES_D(DD) == 2) {
    return hn::GetLane(v) + hn::ExtractLane(v, 1);
  } else {
    const hn::Half<DD> half;
    return SumOfHalves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

HWY_INLINE double SumSquares16(const float* HWY_RESTRICT x) {
  const hn::CappedTag<double, 8> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const size_t N = hn::Lanes(dd);
  const auto squares = [&](size_t k) HWY_ATTR {
    const auto a = hn::PromoteTo(dd, hn::LoadU(df, x + k)), b = hn::PromoteTo(dd, hn::LoadU(df, x + 8 + k));
    return hn::MulAdd(a, a, hn::Mul(b, b));
  };
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN double s[8];
  for (size_t k = 0; k < 8; k += N) hn::Store(squares(k), dd, s + k);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
#else
  if constexpr (HWY_MAX_LANES_D(decltype(dd)) == 8) return SumOfHalves(dd, squares(0));
  if constexpr (HWY_MAX_LANES_D(decltype(dd)) == 4) return SumOfHalves(dd, hn::Add(squares(0), squares(N)));
  return SumOfHalves(dd, hn::Add(hn::Add(squares(0), squares(2 * N)), hn::Add(squares(N), squares(3 * N))));
#endif
}

void SumSquaresOfBlocks(const float* HWY_RESTRICT x, size_t n, double* HWY_RESTRICT sums) {
  size_t i = 0;
  for (; i + kSquaresBlock <= n; i += kSquaresBlock) sums[i / kSquaresBlock] = SumSquares16(x + i);
  if (i == n) return;
  float padded[kSquaresBlock] = {};
  std::memcpy(padded, x + i, (n - i) * sizeof(float));
  sums[i / kSquaresBlock] = SumSquares16(padded);
}

size_t GroupRowsOfTarget() { return GroupRows(); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(PackInt8);
HWY_EXPORT(ScaleRows);
HWY_EXPORT(SumSquaresOfBlocks);
HWY_EXPORT(GroupRowsOfTarget);

size_t RowGroup() { return HWY_DYNAMIC_DISPATCH(GroupRowsOfTarget)(); }

size_t PackTile() { return 8; }  // a multiple of kTile on every target

size_t ActivationBytes(ActivationFormat format, size_t cols, size_t n) {
  return format == ActivationFormat::kInt8 ? n * (cols / 32) * sizeof(matmul::ActivationBlock)
                                           : n * cols * sizeof(float);
}

void PackActivations(ActivationFormat format, const float* x, size_t x_stride, size_t cols, size_t begin, size_t end,
                     size_t n, void* pack) {
  if (format == ActivationFormat::kInt8) {
    HWY_DYNAMIC_DISPATCH(PackInt8)
    (x, x_stride, cols, begin, end, n, /*gain=*/nullptr, /*factors=*/nullptr,
     static_cast<matmul::ActivationBlock*>(pack));
    return;
  }
  float* rows = static_cast<float*>(pack);
  for (size_t t = begin; t < end; ++t) std::memcpy(rows + t * cols, x + t * x_stride, cols * sizeof(float));
}

void PackNormalized(ActivationFormat format, const float* x, size_t x_stride, size_t cols, size_t begin, size_t end,
                    size_t n, const float* gain, const float* factors, void* pack) {
  if (format == ActivationFormat::kInt8) {
    HWY_DYNAMIC_DISPATCH(PackInt8)
    (x, x_stride, cols, begin, end, n, gain, factors, static_cast<matmul::ActivationBlock*>(pack));
  } else {
    HWY_DYNAMIC_DISPATCH(ScaleRows)(x, x_stride, cols, begin, end, gain, factors, static_cast<float*>(pack));
  }
}

void SumSquares(const float* x, size_t n, double* sums) { HWY_DYNAMIC_DISPATCH(SumSquaresOfBlocks)(x, n, sums); }

float InvRmsOfSquares(const double* sums, size_t cols, float eps) {
  const size_t blocks = (cols + kSquaresBlock - 1) / kSquaresBlock;
  double s[4] = {};  // Four chains, so that additions do not wait for each other.
  for (size_t b = 0; b < blocks; ++b) s[b % 4] += sums[b];
  const double mean = ((s[0] + s[2]) + (s[1] + s[3])) / static_cast<double>(cols);
  return static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
}

}  // namespace prenorm
#endif  // HWY_ONCE
