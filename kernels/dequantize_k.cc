// Decoders of the K types: blocks of 256 in sub-blocks of 16 or 32 with small integer scales of their own.
#include <cstdint>

#include "kernels/dequantize_blocks.h"

namespace prenorm {
namespace {

constexpr size_t kBlock = 256;

// 6-bit scale and minimum of the eight sub-blocks of Q4_K and Q5_K, packed in 12 bytes: bytes 0-3 and 4-7 hold the low
// six bits of scales and minima 0-3 and, on top, the high two bits of 4-7, whose low four bits share bytes 8-11.
struct ScaleMin {
  int scale, min;
};

ScaleMin UnpackScaleMin(const uint8_t* packed, size_t i) {
  if (i < 4) return {packed[i] & 0x3F, packed[i + 4] & 0x3F};
  const uint8_t low = packed[i + 4];
  return {(low & 0x0F) | ((packed[i - 4] >> 2) & 0x30), (low >> 4) | ((packed[i] >> 2) & 0x30)};
}

}  // namespace

void DequantizeQ2_K(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 84, out += kBlock) {
    const uint8_t* scales = blocks;
    const uint8_t* codes = blocks + 16;
    const float d = LoadF16(blocks + 80);
    const float dmin = LoadF16(blocks + 82);
    for (size_t sub = 0; sub < 16; ++sub) {  // Sub-block = (half of 128, bit pair, half of 32).
      const float scale = d * static_cast<float>(scales[sub] & 0x0F);
      const float min = dmin * static_cast<float>(scales[sub] >> 4);
      const uint8_t* from = codes + sub / 8 * 32 + sub % 2 * 16;
      const size_t shift = sub % 8 / 2 * 2;
      for (size_t i = 0; i < 16; ++i) out[sub * 16 + i] = scale * static_cast<float>((from[i] >> shift) & 3) - min;
    }
  }
}

void DequantizeQ3_K(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 110, out += kBlock) {
    const uint8_t* high = blocks;  // Bit 0 means "subtract 4".
    const uint8_t* codes = blocks + 32;
    const uint8_t* scales = blocks + 96;  // Low four bits of 16 scales in 8 bytes, high two bits in 4 bytes.
    const float d = LoadF16(blocks + 108);
    for (size_t sub = 0; sub < 16; ++sub) {
      const int low4 = (scales[sub % 8] >> (sub / 8 * 4)) & 0x0F;
      const int high2 = (scales[8 + sub % 4] >> (sub / 4 * 2)) & 0x03;
      const float scale = d * static_cast<float>((low4 | (high2 << 4)) - 32);
      const size_t column = sub % 2 * 16;
      const uint8_t* from = codes + sub / 8 * 32 + column;
      const size_t shift = sub % 8 / 2 * 2;
      const size_t bit = sub / 2;
      for (size_t i = 0; i < 16; ++i) {
        const int q = ((from[i] >> shift) & 3) - (((high[column + i] >> bit) & 1) != 0 ? 0 : 4);
        out[sub * 16 + i] = scale * static_cast<float>(q);
      }
    }
  }
}

void DequantizeQ4_K(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 144, out += kBlock) {
    const float d = LoadF16(blocks);
    const float dmin = LoadF16(blocks + 2);
    const uint8_t* codes = blocks + 16;
    for (size_t sub = 0; sub < 8; ++sub) {  // Pairs of sub-blocks share 32 bytes: low nibbles, then high ones.
      const ScaleMin packed = UnpackScaleMin(blocks + 4, sub);
      const float scale = d * static_cast<float>(packed.scale);
      const float min = dmin * static_cast<float>(packed.min);
      const uint8_t* from = codes + sub / 2 * 32;
      const size_t shift = sub % 2 * 4;
      for (size_t i = 0; i < 32; ++i) out[sub * 32 + i] = scale * static_cast<float>((from[i] >> shift) & 0x0F) - min;
    }
  }
}

void DequantizeQ5_K(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 176, out += kBlock) {
    const float d = LoadF16(blocks);
    const float dmin = LoadF16(blocks + 2);
    const uint8_t* high = blocks + 16;  // Bit `sub` of byte i is the fifth bit of element i of that sub-block.
    const uint8_t* codes = blocks + 48;
    for (size_t sub = 0; sub < 8; ++sub) {
      const ScaleMin packed = UnpackScaleMin(blocks + 4, sub);
      const float scale = d * static_cast<float>(packed.scale);
      const float min = dmin * static_cast<float>(packed.min);
      const uint8_t* from = codes + sub / 2 * 32;
      const size_t shift = sub % 2 * 4;
      for (size_t i = 0; i < 32; ++i) {
        const int q = ((from[i] >> shift) & 0x0F) | (((high[i] >> sub) & 1) << 4);
        out[sub * 32 + i] = scale * static_cast<float>(q) - min;
      }
    }
  }
}

void DequantizeQ6_K(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 210, out += kBlock) {
    const uint8_t* low = blocks;         // 64 bytes per half: two runs of 32 in the low, two in the high nibbles.
    const uint8_t* high = blocks + 128;  // 32 bytes per half: two bits for each of four runs.
    const auto* scales = reinterpret_cast<const int8_t*>(blocks + 192);
    const float d = LoadF16(blocks + 208);
    for (size_t sub = 0; sub < 16; ++sub) {
      const float scale = d * static_cast<float>(scales[sub]);
      const size_t half = sub / 8;
      const size_t run = sub % 8 / 2;
      const size_t column = sub % 2 * 16;
      const uint8_t* from_low = low + half * 64 + run % 2 * 32 + column;
      const uint8_t* from_high = high + half * 32 + column;
      const size_t low_shift = run / 2 * 4;
      const size_t high_shift = run * 2;
      for (size_t i = 0; i < 16; ++i) {
        const int q = ((from_low[i] >> low_shift) & 0x0F) | (((from_high[i] >> high_shift) & 3) << 4);
        out[sub * 16 + i] = scale * static_cast<float>(q - 32);
      }
    }
  }
}

}  // namespace prenorm
