// Decoders of the types whose codes are indices into a table of values: IQ4_NL, IQ4_XS, MXFP4, IQ3_XXS, IQ3_S.
#include <bit>
#include <cstdint>

#include "kernels/dequantize_blocks.h"
#include "kernels/dequantize_grids.h"

namespace prenorm {
namespace {

constexpr float kValuesIQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr float kValuesMXFP4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // twice the e2m1 value
constexpr float kValuesIQ3_XXS[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kValuesIQ3_S[8] = {1, 3, 5, 7, 9, 11, 13, 15};

// 32 codes in 16 bytes: low nibbles first.
void DecodeNibbles(const uint8_t* codes, const float* values, float scale, float* out) {
  for (size_t i = 0; i < 16; ++i) {
    out[i] = scale * values[codes[i] & 0x0F];
    out[i + 16] = scale * values[codes[i] >> 4];
  }
}

// Four elements of one codebook entry; bit i of `signs` makes element i negative.
void DecodeEntry(uint16_t entry, const float* values, float scale, unsigned signs, float* out) {
  for (size_t i = 0; i < 4; ++i) {
    const float magnitude = scale * values[(entry >> (9 - 3 * i)) & 7];
    out[i] = magnitude * (((signs >> i) & 1) != 0 ? -1.0f : 1.0f);
  }
}

// Seven stored signs; the eighth makes the number of minus signs even.
unsigned SignsOf(uint32_t stored) { return stored | (static_cast<unsigned>(std::popcount(stored)) & 1u) << 7; }

}  // namespace

void DequantizeIQ4_NL(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 18, out += 32) DecodeNibbles(blocks + 2, kValuesIQ4, LoadF16(blocks), out);
}

void DequantizeIQ4_XS(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 136, out += 256) {
    const float d = LoadF16(blocks);
    const unsigned high = LoadUnaligned<uint16_t>(blocks + 2);
    for (size_t sub = 0; sub < 8; ++sub) {
      const int low4 = (blocks[4 + sub / 2] >> (sub % 2 * 4)) & 0x0F;
      const int high2 = static_cast<int>(high >> (2 * sub)) & 3;
      const float scale = d * static_cast<float>((low4 | (high2 << 4)) - 32);
      DecodeNibbles(blocks + 8 + 16 * sub, kValuesIQ4, scale, out + 32 * sub);
    }
  }
}

void DequantizeMXFP4(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 17, out += 32) {
    // Half of the e8m0 scale 2^(e - 127), for the table holds doubled values; the two smallest are subnormal.
    const uint32_t e = blocks[0];
    const float scale = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    DecodeNibbles(blocks + 1, kValuesMXFP4, scale, out);
  }
}

void DequantizeIQ3_XXS(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 98, out += 256) {
    const float d = LoadF16(blocks);
    const uint8_t* codes = blocks + 2;
    for (size_t sub = 0; sub < 8; ++sub) {  // 32 elements: 8 entries, four groups of signs and the scale in one u32.
      const auto packed = LoadUnaligned<uint32_t>(blocks + 66 + 4 * sub);
      const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.5f;
      for (size_t group = 0; group < 4; ++group) {
        const unsigned signs = SignsOf((packed >> (7 * group)) & 0x7F);
        const uint8_t* pair = codes + 8 * sub + 2 * group;
        float* to = out + 32 * sub + 8 * group;
        DecodeEntry(kGridIQ3_XXS[pair[0]], kValuesIQ3_XXS, scale, signs, to);
        DecodeEntry(kGridIQ3_XXS[pair[1]], kValuesIQ3_XXS, scale, signs >> 4, to + 4);
      }
    }
  }
}

void DequantizeIQ3_S(const uint8_t* blocks, size_t n, float* out) {
  for (; n != 0; --n, blocks += 110, out += 256) {
    const float d = LoadF16(blocks);
    const uint8_t* codes = blocks + 2;
    const uint8_t* high = blocks + 66;
    const uint8_t* signs = blocks + 74;
    const uint8_t* scales = blocks + 106;
    for (size_t sub = 0; sub < 8; ++sub) {
      const float scale = d * static_cast<float>(1 + 2 * ((scales[sub / 2] >> (sub % 2 * 4)) & 0x0F));
      for (size_t entry = 0; entry < 8; ++entry) {
        const unsigned index = codes[8 * sub + entry] | ((high[sub] >> entry) & 1u) << 8;
        const unsigned sign_bits = static_cast<unsigned>(signs[4 * sub + entry / 2]) >> (entry % 2 * 4);
        DecodeEntry(kGridIQ3_S[index], kValuesIQ3_S, scale, sign_bits, out + 32 * sub + 4 * entry);
      }
    }
  }
}

}  // namespace prenorm
