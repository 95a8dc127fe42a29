// Encoders of Q4_K, Q5_K and Q6_K. A sub-block's ideal scale is found by trying a few and refining each by least
// squares; the scales are then rounded to their stored integers, and the codes are chosen for what the decoder will
// make of them.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/quantize_blocks.h"

namespace prenorm {
namespace {

constexpr size_t kBlock = 256;

// To nearest, ties to even; far outside the range of any code it is enough to keep the sign. NaN counts as far below.
int NearestInt(float value) {
  constexpr float kFar = 1e6f;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it leaves no bits for a fraction.
  if (value > kFar) return static_cast<int>(kFar);
  if (!(value > -kFar)) return static_cast<int>(-kFar);
  return static_cast<int>((value + kShift) - kShift);
}

int Clamp(int value, int least, int most) { return std::min(std::max(value, least), most); }

// A stored half-precision scale as the decoder sees it.
float RoundedToF16(float value) { return ToF32(ToF16(value)); }

float DivideOrZero(float a, float b) { return b == 0.0f ? 0.0f : a / b; }

// x ~ scale * code + offset with codes in [0, most] and offset <= 0.
struct Affine {
  float scale = 0.0f;
  float offset = 0.0f;
  double error = 0.0;
};

// Codes by (scale, offset), then the scale and offset that are best for these codes.
Affine RefineAffine(const float* x, size_t n, int most, float scale, float offset) {
  double sum_q = 0, sum_qq = 0, sum_x = 0, sum_qx = 0;
  const float inverse = DivideOrZero(1.0f, scale);
  uint8_t codes[32];
  for (size_t i = 0; i < n; ++i) {
    codes[i] = static_cast<uint8_t>(Clamp(NearestInt((x[i] - offset) * inverse), 0, most));
    const double q = codes[i];
    sum_q += q;
    sum_qq += q * q;
    sum_x += static_cast<double>(x[i]);
    sum_qx += q * static_cast<double>(x[i]);
  }
  const double count = static_cast<double>(n);
  const double determinant = count * sum_qq - sum_q * sum_q;
  Affine fit{scale, offset, 0.0};
  if (determinant > 0) {
    double best_scale = (count * sum_qx - sum_q * sum_x) / determinant;
    double best_offset = (sum_x - best_scale * sum_q) / count;
    if (best_offset > 0) {  // The stored minimum is not negative; without it the scale alone is fitted.
      best_offset = 0;
      best_scale = sum_qq > 0 ? sum_qx / sum_qq : 0;
    }
    if (best_scale > 0) fit = {static_cast<float>(best_scale), static_cast<float>(best_offset), 0.0};
  }
  for (size_t i = 0; i < n; ++i) {
    const double difference =
        static_cast<double>(x[i]) - (static_cast<double>(fit.scale) * codes[i] + static_cast<double>(fit.offset));
    fit.error += difference * difference;
  }
  return fit;
}

Affine FitAffine(const float* x, size_t n, int most) {
  const auto [low, high] = std::minmax_element(x, x + n);
  const float offset = std::min(0.0f, *low);
  const float range = std::max(*high, 0.0f) - offset;
  if (range == 0.0f) return {};
  // Clipping the extremes a little often pays: ranges of 0.80 to 1.06 of the full one are tried.
  const float steps = static_cast<float>(most);
  Affine best = RefineAffine(x, n, most, range / steps, offset);
  for (int step = 0; step < 14; ++step) {
    const float share = 0.80f + 0.02f * static_cast<float>(step);
    const Affine fit = RefineAffine(x, n, most, range * share / steps, offset * share);
    if (fit.error < best.error) best = fit;
  }
  for (int round = 0; round < 4; ++round) {  // Codes and scale in turn, while that helps.
    const Affine fit = RefineAffine(x, n, most, best.scale, best.offset);
    if (!(fit.error < best.error)) break;
    best = fit;
  }
  return best;
}

// Six-bit scales and minima of eight sub-blocks in the 12 bytes that dequantize_k.cc describes.
void PackScales(const int* scales, const int* mins, uint8_t* to) {
  for (size_t i = 0; i < 4; ++i) {
    to[i] = static_cast<uint8_t>(scales[i] | (scales[i + 4] >> 4) << 6);
    to[i + 4] = static_cast<uint8_t>(mins[i] | (mins[i + 4] >> 4) << 6);
    to[i + 8] = static_cast<uint8_t>((scales[i + 4] & 0x0F) | (mins[i + 4] & 0x0F) << 4);
  }
}

// Both half-precision scales and the packed ones of a block, into its first 16 bytes, and the codes that suit them.
void EncodeAffineBlock(const float* x, int most, uint8_t* head, uint8_t* codes) {
  Affine fits[8];
  float max_scale = 0.0f, max_min = 0.0f;
  for (size_t sub = 0; sub < 8; ++sub) {
    fits[sub] = FitAffine(x + 32 * sub, 32, most);
    max_scale = std::max(max_scale, fits[sub].scale);
    max_min = std::max(max_min, -fits[sub].offset);
  }
  const float d = RoundedToF16(max_scale / 63.0f);
  const float dmin = RoundedToF16(max_min / 63.0f);
  int scales[8], mins[8];
  for (size_t sub = 0; sub < 8; ++sub) {
    scales[sub] = Clamp(NearestInt(DivideOrZero(fits[sub].scale, d)), 0, 63);
    mins[sub] = Clamp(NearestInt(DivideOrZero(-fits[sub].offset, dmin)), 0, 63);
    const float inverse = DivideOrZero(1.0f, d * static_cast<float>(scales[sub]));
    const float min = dmin * static_cast<float>(mins[sub]);
    for (size_t i = 32 * sub; i < 32 * sub + 32; ++i) {
      codes[i] = static_cast<uint8_t>(Clamp(NearestInt((x[i] + min) * inverse), 0, most));
    }
  }
  StoreF16(d, head);
  StoreF16(dmin, head + 2);
  PackScales(scales, mins, head + 4);
}

// Low four bits of pairs of sub-blocks: the first in the low nibbles of 32 bytes, the second in the high ones.
void PackNibbles(const uint8_t* codes, uint8_t* to) {
  for (size_t pair = 0; pair < 4; ++pair, codes += 64, to += 32) {
    for (size_t i = 0; i < 32; ++i) to[i] = static_cast<uint8_t>((codes[i] & 0x0F) | (codes[32 + i] & 0x0F) << 4);
  }
}

// The scale of least squared error for x ~ scale * code with codes in [-32, 31].
float FitSymmetric(const float* x, size_t n) {
  float max = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(max)) max = x[i];
  }
  if (max == 0.0f) return 0.0f;
  float best_scale = 0.0f;
  double best_gain = -1.0;
  for (int step = -9; step <= 9; ++step) {
    // The largest element gets the code -32, which has no positive counterpart, or one near it.
    const float inverse = -(32.0f + 0.1f * static_cast<float>(step)) / max;
    if (!std::isfinite(inverse)) return 0.0f;
    double sum_qx = 0, sum_qq = 0;
    for (size_t i = 0; i < n; ++i) {
      const double q = Clamp(NearestInt(x[i] * inverse), -32, 31);
      sum_qx += q * static_cast<double>(x[i]);
      sum_qq += q * q;
    }
    // The error is sum x^2 - gain with the best scale sum_qx / sum_qq.
    const double gain = sum_qq > 0 ? sum_qx * sum_qx / sum_qq : 0;
    if (gain > best_gain) {
      best_gain = gain;
      best_scale = static_cast<float>(sum_qq > 0 ? sum_qx / sum_qq : 0);
    }
  }
  return best_scale;
}

}  // namespace

void QuantizeQ4_K(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 144) {
    uint8_t codes[kBlock];
    EncodeAffineBlock(x, 15, blocks, codes);
    PackNibbles(codes, blocks + 16);
  }
}

void QuantizeQ5_K(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 176) {
    uint8_t codes[kBlock];
    EncodeAffineBlock(x, 31, blocks, codes);
    uint8_t* high = blocks + 16;
    for (size_t i = 0; i < 32; ++i) {
      unsigned bits = 0;
      for (size_t sub = 0; sub < 8; ++sub) bits |= static_cast<unsigned>(codes[32 * sub + i] >> 4) << sub;
      high[i] = static_cast<uint8_t>(bits);
    }
    PackNibbles(codes, blocks + 48);
  }
}

void QuantizeQ6_K(const float* x, size_t n, uint8_t* blocks) {
  for (; n != 0; --n, x += kBlock, blocks += 210) {
    float fits[16];
    float max = 0.0f;
    for (size_t sub = 0; sub < 16; ++sub) {
      fits[sub] = FitSymmetric(x + 16 * sub, 16);
      if (std::fabs(fits[sub]) > std::fabs(max)) max = fits[sub];
    }
    const float d = RoundedToF16(max / -128.0f);  // The largest scale is stored as -128.
    std::memset(blocks, 0, 192);
    StoreF16(d, blocks + 208);
    for (size_t sub = 0; sub < 16; ++sub) {
      const int scale = Clamp(NearestInt(DivideOrZero(fits[sub], d)), -128, 127);
      blocks[192 + sub] = static_cast<uint8_t>(static_cast<int8_t>(scale));
      const float inverse = DivideOrZero(1.0f, d * static_cast<float>(scale));
      const size_t half = sub / 8, run = sub % 8 / 2, column = sub % 2 * 16;
      uint8_t* low = blocks + half * 64 + run % 2 * 32 + column;
      uint8_t* high = blocks + 128 + half * 32 + column;
      for (size_t i = 0; i < 16; ++i) {
        const int code = Clamp(NearestInt(x[16 * sub + i] * inverse), -32, 31) + 32;
        low[i] = static_cast<uint8_t>(low[i] | (code & 0x0F) << (run / 2 * 4));
        high[i] = static_cast<uint8_t>(high[i] | (code >> 4) << (run * 2));
      }
    }
  }
}

}  // namespace prenorm
