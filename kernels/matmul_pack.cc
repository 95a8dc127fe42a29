// Packs activations for products: int8 codes with a scale per 16 elements, tiles of rows interleaved by block.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_pack.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_dot-inl.h"

#include <bit>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Codes of 16 elements and their scale; the sums are exact integers, rounded once in sum.
HWY_INLINE void Quantize16(const float* HWY_RESTRICT x, size_t half, matmul::ActivationBlock& block) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<int16_t, decltype(df)> d16;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const size_t N = hn::Lanes(df);

  // The greatest magnitude by its bits, so that NaN counts as greatest on every target.
  auto max_bits = hn::Zero(di);
  for (size_t i = 0; i < 16; i += N) max_bits = hn::Max(max_bits, hn::BitCast(di, hn::Abs(hn::LoadU(df, x + i))));
  const float max = std::bit_cast<float>(hn::ReduceMax(di, max_bits));
  // Below 1e-30 the inverse could overflow. The comparison is false for NaN, which goes on into the scale and the sums.
  const bool tiny = max < 1e-30f;
  const float inverse = tiny ? 0.0f : 127.0f / max;
  block.scale[half] = tiny ? 0.0f : max * (1.0f / 127.0f);

  // Rounding keeps finite codes within 127; those of NaN and Inf do not matter beside such a scale.
  int8_t* const codes = block.codes + 16 * half;
  for (size_t i = 0; i < 16; i += N) {
    const auto code = hn::NearestInt(hn::Mul(hn::LoadU(df, x + i), hn::Set(df, inverse)));
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

void PackInt8(const float* x, size_t x_stride, size_t cols, size_t begin, size_t end, size_t n,
              matmul::ActivationBlock* pack) {
  const size_t blocks = cols / 32;
  for (size_t t = begin; t < end;) {
    const size_t width = matmul::TileWidth(kTile, n - t);
    for (size_t j = 0; j < width; ++j) {
      const float* row = x + (t + j) * x_stride;
      matmul::ActivationBlock* to = pack + t * blocks + j;
      for (size_t b = 0; b < blocks; ++b, to += width) {
        Quantize16(row + 32 * b, 0, *to);
        Quantize16(row + 32 * b + 16, 1, *to);
        to->sum32 = to->sum[0] + to->sum[1];
        to->unused = 0;
      }
    }
    t += width;
  }
}

size_t GroupRowsOfTarget() { return GroupRows(); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(PackInt8);
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
    HWY_DYNAMIC_DISPATCH(PackInt8)(x, x_stride, cols, begin, end, n, static_cast<matmul::ActivationBlock*>(pack));
    return;
  }
  float* rows = static_cast<float*>(pack);
  for (size_t t = begin; t < end; ++t) std::memcpy(rows + t * cols, x + t * x_stride, cols * sizeof(float));
}

}  // namespace prenorm
#endif  // HWY_ONCE
