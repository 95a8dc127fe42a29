// Encoders of whole blocks, one per storage type; kernels/quantize.cc chooses among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prenorm/types.h"

namespace prenorm {

/// Encodes n blocks that lie one after the other.
using QuantizeBlocksFn = void (*)(const float* x, size_t n, uint8_t* blocks);

void QuantizeF32(const float* x, size_t n, uint8_t* blocks);
void QuantizeF16(const float* x, size_t n, uint8_t* blocks);
void QuantizeBF16(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ4_0(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ4_1(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ5_0(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ5_1(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ8_0(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ4_K(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ5_K(const float* x, size_t n, uint8_t* blocks);
void QuantizeQ6_K(const float* x, size_t n, uint8_t* blocks);

/// Writes a little-endian value to any address.
template <typename T>
inline void StoreUnaligned(T value, uint8_t* to) {
  std::memcpy(to, &value, sizeof(value));
}

inline void StoreF16(float value, uint8_t* to) { StoreUnaligned(ToF16(value).bits, to); }

}  // namespace prenorm
