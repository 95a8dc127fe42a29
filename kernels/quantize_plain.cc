// Encoders of the plain types and of the blocks of 32. Each operation rounds to f32 in the order of the reference.
#include <algorithm>
#include <cmath>

#include "kernels/quantize_blocks.h"

namespace prenorm {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kHalf = kBlock / 2;

// 1 / d, where a block without a scale has only zeros. A subnormal d gives infinity, and codes of 0 below.
float Inverse(float d) { return d == 0.0f ? 0.0f : 1.0f / d; }

// Truncates to a code in [0, most]; what is not finite becomes 0.
uint8_t Code(float value, int most) {
  if (!(value >= 0.0f && value < 256.0f)) return 0;
  return static_cast<uint8_t>(std::min(static_cast<int>(value), most));
}

// The element of largest magnitude, the first of equals, with its sign.
float SignedMax(const float* x) {
  float max = x[0];
  for (size_t i = 1; i < kBlock; ++i) {
    if (std::fabs(x[i]) > std::fabs(max)) max = x[i];
  }
  return max;
}

void PackNibbles(const uint8_t* codes, uint8_t* to) {
  for (size_t i = 0; i < kHalf; ++i) to[i] = static_cast<uint8_t>((codes[i] & 0x0F) | (codes[i + kHalf] << 4));
}

uint32_t HighBits(const uint8_t* codes) {
  uint32_t bits = 0;
  for (size_t i = 0; i < kBlock; ++i) bits |= static_cast<uint32_t>(codes[i] >> 4) << i;
  return bits;
}

// Codes around a middle of `half`, with a scale that maps the largest element to -half exactly. Returns the scale.
float CodesWithoutMin(const float* x, int half, uint8_t* codes) {
  const float d = SignedMax(x) / static_cast<float>(-half);
  const float inverse = Inverse(d);
  const float middle = static_cast<float>(half) + 0.5f;
  for (size_t i = 0; i < kBlock; ++i) codes[i] = Code(x[i] * inverse + middle, 2 * half - 1);
  return d;
}

struct ScaleAndMin {
  float d, min;
};

ScaleAndMin CodesWithMin(const float* x, int most, uint8_t* codes) {
  const auto [low, high] = std::minmax_element(x, x + kBlock);
  const float min = *low;
  const float d = (*high - min) / static_cast<float>(most);
  const float inverse = Inverse(d);
  for (size_t i = 0; i < kBlock; ++i) codes[i] = Code((x[i] - min) * inverse + 0.5f, most);
  return {d, min};
}

}  // namespace

void QuantizeF32(const float* x, size_t n, uint8_t* blocks) {
  if (n != 0) std::memcpy(blocks, x, n * sizeof(float));
}

void QuantizeF16(const float* x, size_t n, uint8_t* blocks) {
  for (size_t i = 0; i < n; ++i) StoreF16(x[i], blocks + 2 * i);
}

void QuantizeBF16(const float* x, size_t n, uint8_t* blocks) {
  for (size_t i = 0; i < n; ++i) StoreUnaligned(ToBf16(x[i]).bits, blocks + 2 * i);
}

void QuantizeQ4_0(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 18) {
    uint8_t codes[kBlock];
    StoreF16(CodesWithoutMin(x, 8, codes), blocks);
    PackNibbles(codes, blocks + 2);
  }
}

void QuantizeQ4_1(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 20) {
    uint8_t codes[kBlock];
    const ScaleAndMin scale = CodesWithMin(x, 15, codes);
    StoreF16(scale.d, blocks);
    StoreF16(scale.min, blocks + 2);
    PackNibbles(codes, blocks + 4);
  }
}

void QuantizeQ5_0(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 22) {
    uint8_t codes[kBlock];
    StoreF16(CodesWithoutMin(x, 16, codes), blocks);
    StoreUnaligned(HighBits(codes), blocks + 2);
    PackNibbles(codes, blocks + 6);
  }
}

void QuantizeQ5_1(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 24) {
    uint8_t codes[kBlock];
    const ScaleAndMin scale = CodesWithMin(x, 31, codes);
    StoreF16(scale.d, blocks);
    StoreF16(scale.min, blocks + 2);
    StoreUnaligned(HighBits(codes), blocks + 4);
    PackNibbles(codes, blocks + 8);
  }
}

void QuantizeQ8_0(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 34) {
    const float d = std::fabs(SignedMax(x)) / 127.0f;
    const float inverse = Inverse(d);
    StoreF16(d, blocks);
    for (size_t i = 0; i < kBlock; ++i) {
      const float scaled = x[i] * inverse;
      const float rounded = std::isfinite(scaled) ? std::round(scaled) : 0.0f;  // Ties go away from zero.
      blocks[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(rounded));
    }
  }
}

}  // namespace prenorm
