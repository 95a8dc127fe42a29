// Rounds keys and values and puts them into a cache (StoreKv of include/prenorm/attention.h).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "prenorm/attention.h"
#include "prenorm/quantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_cache.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] = from[i], rounded to nearest even, with the bits of ToBf16 and ToF16 (NaN payloads aside).
template <class T>
void Round(const float* from, size_t count, T* to) {
  MapRow(
      RowTag(), count, to, [](hn::Vec<RowTag> v) HWY_ATTR { return v; }, from);
}

// Own integer rounding, as for bf16, so that the cache holds the same bits on targets with and without F16C.
void Round(const float* HWY_RESTRICT from, size_t count, f16* HWY_RESTRICT to) {
  const RowTag df;
  const hn::RebindToUnsigned<RowTag> du;
  const hn::Rebind<uint16_t, RowTag> d16;
  const size_t N = hn::Lanes(df);
  for (size_t i = 0; i < count; i += N) {
    const size_t lanes = std::min(N, count - i);
    const auto bits = hn::BitCast(du, hn::LoadN(df, from + i, lanes));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
    const auto sign = hn::ShiftRight<16>(hn::AndNot(hn::Set(du, 0x7FFFFFFFu), bits));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
    const auto normal =
        hn::ShiftRight<13>(hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(du, 0xFFFu))), hn::Set(du, 0x38000000u)));
    // The unit in the last place of 0.5 is 2^-24, that of f16 subnormals: the addition rounds.
    const auto half = hn::Set(df, 0.5f);
    const auto tiny = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(du, half));
    auto rounded = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), tiny, normal);
    rounded = hn::IfThenElse(hn::Ge(magnitude, hn::Set(du, 0x477FF000u)), hn::Set(du, 0x7C00u), rounded);
    rounded = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), hn::Set(du, 0x7E00u), rounded);
    hn::StoreN(hn::TruncateTo(d16, hn::Or(rounded, sign)), d16, &to[i].bits, lanes);
  }
}

template <class T>
void StoreRows(const KvHead& cache, size_t position, size_t count, const float* keys, const float* values,
               size_t stride) {
  const size_t head_dim = cache.head_dim;
  T* const cache_keys = static_cast<T*>(cache.keys);
  T* const cache_values = static_cast<T*>(cache.values);
  for (size_t i = 0; i < count; ++i) {
    Round(values + i * stride, head_dim, cache_values + (position + i) * head_dim);
    constexpr size_t kPiece = 64;
    T rounded[kPiece];
    for (size_t begin = 0; begin < head_dim; begin += kPiece) {
      const size_t dims = std::min(kPiece, head_dim - begin);
      Round(keys + i * stride + begin, dims, rounded);
      T* const to = cache_keys + KeyIndex(position + i, begin, head_dim);
      for (size_t d = 0; d < dims; ++d) to[d * kKeyBlock] = rounded[d];
    }
  }
}

// Codes and scales of the keys are scattered, those of the values stay blocks.
void StoreInt8Rows(const KvHead& cache, size_t position, size_t count, const float* keys, const float* values,
                   size_t stride) {
  constexpr size_t kRun = 32, kBlockBytes = 34;
  static_assert(kKeyBlock == kRun && InfoOf(DType::kQ8_0).block_bytes == kBlockBytes);
  const size_t head_dim = cache.head_dim;
  auto* const cache_keys = static_cast<uint8_t*>(cache.keys);
  auto* const cache_values = static_cast<uint8_t*>(cache.values);
  const auto quantize = [](const float* from, uint8_t* block) {
    if (std::all_of(from, from + kRun, [](float x) { return std::isfinite(x); })) {
      return QuantizeRow(DType::kQ8_0, from, kRun, block);
    }
    const f16 nan{0x7E00};
    std::memcpy(block, &nan, sizeof nan);
    std::memset(block + sizeof nan, 1, kRun);
  };
  for (size_t i = 0; i < count; ++i) {
    const size_t at = position + i;
    for (size_t d = 0; d < head_dim; d += kRun) {
      quantize(values + i * stride + d, cache_values + (at * head_dim + d) / kRun * kBlockBytes);
      uint8_t block[kBlockBytes];
      quantize(keys + i * stride + d, block);
      uint8_t* const run = cache_keys + (at / kKeyBlock * head_dim + d) / kRun * (kBlockBytes * kKeyBlock);
      std::memcpy(run + at % kKeyBlock * 2, block, 2);
      for (size_t k = 0; k < kRun; ++k) cache_keys[Int8KeyIndex(at, d + k, head_dim)] = block[2 + k];
    }
  }
}

void StoreRowsOf(const KvHead& cache, size_t position, size_t count, const float* keys, const float* values,
                 size_t stride) {
  switch (cache.type) {
    case DType::kF32:
      return StoreRows<float>(cache, position, count, keys, values, stride);
    case DType::kQ8_0:
      return StoreInt8Rows(cache, position, count, keys, values, stride);
    case DType::kF16:
      return StoreRows<f16>(cache, position, count, keys, values, stride);
    default:
      return StoreRows<bf16>(cache, position, count, keys, values, stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_EXPORT(StoreRowsOf);
}  // namespace

void StoreKv(const KvHead& cache, size_t position, size_t count, const float* keys, const float* values,
             size_t stride) {
  HWY_DASSERT(IsKvType(cache.type));
  HWY_DYNAMIC_DISPATCH(StoreRowsOf)(cache, position, count, keys, values, stride);
}

}  // namespace prenorm
#endif  // HWY_ONCE
