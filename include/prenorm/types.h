// Element types of data and weights: bf16 and f16 storage, and the block formats of GGUF files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace prenorm {

/// bfloat16 storage: the upper half of an IEEE binary32. Arithmetic widens to f32 first.
struct bf16 {
  uint16_t bits;
};

/// IEEE binary16 storage.
struct f16 {
  uint16_t bits;
};

/// f32 -> bf16, to nearest, ties to even; NaN stays NaN (quiet); subnormals are kept.
constexpr bf16 ToBf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return bf16{static_cast<uint16_t>((u >> 16) | 0x40u)};
  return bf16{static_cast<uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16)};
}

/// bf16 -> f32, exact.
constexpr float ToF32(bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

/// f16 -> f32, exact, subnormals included.
constexpr float ToF32(f16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
  if (magnitude < 0x0400u) {  // Zero or subnormal: magnitude * 2^-24 is exact in f32.
    const float value = static_cast<float>(magnitude) * 5.9604644775390625e-08f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

/// f32 -> f16, to nearest, ties to even; overflow gives infinity; NaN stays NaN.
constexpr f16 ToF16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t magnitude = u & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return f16{static_cast<uint16_t>(sign | 0x7E00u)};
  if (magnitude >= 0x477FF000u) return f16{static_cast<uint16_t>(sign | 0x7C00u)};
  if (magnitude < 0x38800000u) {  // Below the smallest normal: add 0.5, whose ulp is 2^-24, and let it round.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return f16{static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u))};
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return f16{static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

/// Storage type of a tensor. The values are the tensor type ids of the GGUF specification.
enum class DType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ3_XXS = 18,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ4_XS = 23,
  kBF16 = 30,
  kMXFP4 = 39,
};

/// Name and block shape of a DType.
struct DTypeInfo {
  const char* name;    ///< e.g. "Q4_K"; null for an id that Prenorm does not know.
  size_t block_elems;  ///< Elements that share one block; 1 for plain types.
  size_t block_bytes;  ///< Bytes of one block.
};

/// Constant-time lookup; `name` is null for unknown ids. Thread-safe.
constexpr DTypeInfo InfoOf(DType type) {
  switch (type) {
    case DType::kF32:
      return {"F32", 1, 4};
    case DType::kF16:
      return {"F16", 1, 2};
    case DType::kBF16:
      return {"BF16", 1, 2};
    case DType::kQ4_0:
      return {"Q4_0", 32, 18};
    case DType::kQ4_1:
      return {"Q4_1", 32, 20};
    case DType::kQ5_0:
      return {"Q5_0", 32, 22};
    case DType::kQ5_1:
      return {"Q5_1", 32, 24};
    case DType::kQ8_0:
      return {"Q8_0", 32, 34};
    case DType::kQ2_K:
      return {"Q2_K", 256, 84};
    case DType::kQ3_K:
      return {"Q3_K", 256, 110};
    case DType::kQ4_K:
      return {"Q4_K", 256, 144};
    case DType::kQ5_K:
      return {"Q5_K", 256, 176};
    case DType::kQ6_K:
      return {"Q6_K", 256, 210};
    case DType::kIQ3_XXS:
      return {"IQ3_XXS", 256, 98};
    case DType::kIQ3_S:
      return {"IQ3_S", 256, 110};
    case DType::kIQ4_NL:
      return {"IQ4_NL", 32, 18};
    case DType::kIQ4_XS:
      return {"IQ4_XS", 256, 136};
    case DType::kMXFP4:
      return {"MXFP4", 32, 17};
  }
  return {nullptr, 0, 0};
}

/// Bytes of one row of `cols` elements, which must be a multiple of the block length.
constexpr size_t RowBytes(DType type, size_t cols) {
  const DTypeInfo info = InfoOf(type);
  return info.block_elems == 0 ? 0 : cols / info.block_elems * info.block_bytes;
}

}  // namespace prenorm
