// Decoders of whole blocks, one per storage type; kernels/dequantize.cc chooses among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prenorm/types.h"

namespace prenorm {

/// Decodes n blocks that lie one after the other.
using DequantizeBlocksFn = void (*)(const uint8_t* blocks, size_t n, float* out);

void DequantizeF32(const uint8_t* blocks, size_t n, float* out);
void DequantizeF16(const uint8_t* blocks, size_t n, float* out);
void DequantizeBF16(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ4_0(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ4_1(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ5_0(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ5_1(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ8_0(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ2_K(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ3_K(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ4_K(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ5_K(const uint8_t* blocks, size_t n, float* out);
void DequantizeQ6_K(const uint8_t* blocks, size_t n, float* out);
void DequantizeIQ3_XXS(const uint8_t* blocks, size_t n, float* out);
void DequantizeIQ3_S(const uint8_t* blocks, size_t n, float* out);
void DequantizeIQ4_NL(const uint8_t* blocks, size_t n, float* out);
void DequantizeIQ4_XS(const uint8_t* blocks, size_t n, float* out);
void DequantizeMXFP4(const uint8_t* blocks, size_t n, float* out);

/// A little-endian value of a block, which may lie at any address.
template <typename T>
inline T LoadUnaligned(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

inline float LoadF16(const uint8_t* from) { return ToF32(f16{LoadUnaligned<uint16_t>(from)}); }

}  // namespace prenorm
