// Decoders of the plain types and of the blocks of 32 with one scale (and, in the _1 types, one minimum).
// Products and sums are written in the order of the reference, each rounded to f32, so that the bits agree.
#include <cstring>

#include "kernels/dequantize_blocks.h"

namespace prenorm {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kHalf = kBlock / 2;  // Byte i of the codes holds element i in its low, i + 16 in its high nibble.

// The fifth bits of a block, one per element.
struct HighBits {
  uint32_t bits;
  int At(size_t i) const { return static_cast<int>((bits >> i) & 1u) << 4; }
};

}  // namespace

void DequantizeF32(const uint8_t* blocks, size_t n, float* out) {
  if (n != 0) std::memcpy(out, blocks, n * sizeof(float));
}

void DequantizeF16(const uint8_t* blocks, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = LoadF16(blocks + 2 * i);
}

void DequantizeBF16(const uint8_t* blocks, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = ToF32(bf16{LoadUnaligned<uint16_t>(blocks + 2 * i)});
}

void DequantizeQ4_0(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 18, out += kBlock) {
    const float d = LoadF16(blocks);
    const uint8_t* codes = blocks + 2;
    for (size_t i = 0; i < kHalf; ++i) {
      out[i] = d * static_cast<float>((codes[i] & 0x0F) - 8);
      out[i + kHalf] = d * static_cast<float>((codes[i] >> 4) - 8);
    }
  }
}

void DequantizeQ4_1(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 20, out += kBlock) {
    const float d = LoadF16(blocks);
    const float min = LoadF16(blocks + 2);
    const uint8_t* codes = blocks + 4;
    for (size_t i = 0; i < kHalf; ++i) {
      out[i] = d * static_cast<float>(codes[i] & 0x0F) + min;
      out[i + kHalf] = d * static_cast<float>(codes[i] >> 4) + min;
    }
  }
}

void DequantizeQ5_0(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 22, out += kBlock) {
    const float d = LoadF16(blocks);
    const HighBits high{LoadUnaligned<uint32_t>(blocks + 2)};
    const uint8_t* codes = blocks + 6;
    for (size_t i = 0; i < kHalf; ++i) {
      out[i] = d * static_cast<float>(((codes[i] & 0x0F) | high.At(i)) - 16);
      out[i + kHalf] = d * static_cast<float>(((codes[i] >> 4) | high.At(i + kHalf)) - 16);
    }
  }
}

void DequantizeQ5_1(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 24, out += kBlock) {
    const float d = LoadF16(blocks);
    const float min = LoadF16(blocks + 2);
    const HighBits high{LoadUnaligned<uint32_t>(blocks + 4)};
    const uint8_t* codes = blocks + 8;
    for (size_t i = 0; i < kHalf; ++i) {
      out[i] = d * static_cast<float>((codes[i] & 0x0F) | high.At(i)) + min;
      out[i + kHalf] = d * static_cast<float>((codes[i] >> 4) | high.At(i + kHalf)) + min;
    }
  }
}

void DequantizeQ8_0(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 34, out += kBlock) {
    const float d = LoadF16(blocks);
    const auto* codes = reinterpret_cast<const int8_t*>(blocks + 2);
    for (size_t i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(codes[i]);
  }
}

}  // namespace prenorm
