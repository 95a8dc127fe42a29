// Permutes quantized blocks into the interleaved layout and back (matmul_layout.h): integer shuffling
// only, no SIMD target.
#include "kernels/matmul_layout.h"

#include <cstring>

namespace prenorm::matmul {
namespace {

uint32_t Load32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
void Store32(uint32_t v, uint8_t* p) { std::memcpy(p, &v, 4); }

constexpr uint32_t kLowNibbles = 0x0F0F0F0Fu;
constexpr uint32_t kLowPairs = 0x03030303u;
constexpr uint32_t kLowBits = 0x01010101u;

// Bit e of `bits` (element e) <-> bit e / 4 of byte e % 4.
uint32_t BitPlane(uint32_t bits) {
  uint32_t plane = 0;
  for (uint32_t q = 0; q < 8; ++q) plane |= ((((bits >> (4 * q)) & 15u) * 0x00204081u) & kLowBits) << q;
  return plane;
}
uint32_t BitsOfPlane(uint32_t plane) {
  uint32_t bits = 0;
  for (uint32_t q = 0; q < 8; ++q) {
    const uint32_t v = (plane >> q) & kLowBits;
    bits |= ((v | (v >> 7) | (v >> 14) | (v >> 21)) & 15u) << (4 * q);
  }
  return bits;
}

// Sixteen 6-bit values in three words: five per word from the low end, the last in the two top bits of each word.
void PackSixes(const uint8_t* values, uint32_t* words) {
  for (uint32_t w = 0; w < 3; ++w) {
    words[w] = ((values[15] >> (2 * w)) & 3u) << 30;
    for (uint32_t i = 0; i < 5; ++i) words[w] |= static_cast<uint32_t>(values[5 * w + i]) << (6 * i);
  }
}
void UnpackSixes(const uint32_t* words, uint8_t* values) {
  values[15] = 0;
  for (uint32_t w = 0; w < 3; ++w) {
    values[15] |= static_cast<uint8_t>((words[w] >> 30) << (2 * w));
    for (uint32_t i = 0; i < 5; ++i) values[5 * w + i] = (words[w] >> (6 * i)) & 63u;
  }
}

// 32-element blocks whose file order is already that of the planes: fields, then for the 5-bit types a word of high
// bits, then the words of a nibble or byte plane.
template <DType kType, size_t kFieldBytes, size_t kFields, size_t kPlaneWords, bool kHighBits = false>
struct Simple {
  static constexpr size_t kHeaderBytes = kFieldBytes, kHeaders = kFields, kWords = kPlaneWords + kHighBits;
  static constexpr size_t kBytes = InfoOf(kType).block_bytes;
  static_assert(kHeaderBytes * kHeaders + 4 * kWords == kBytes);

  static void Split(const uint8_t* block, uint8_t* header, uint32_t* words) {
    std::memcpy(header, block, kHeaderBytes * kHeaders);
    std::memcpy(words, block + kHeaderBytes * kHeaders, 4 * kWords);
    if constexpr (kHighBits) words[0] = BitPlane(words[0]);
  }
  static void Join(const uint8_t* header, uint32_t* words, uint8_t* block) {
    if constexpr (kHighBits) words[0] = BitsOfPlane(words[0]);
    std::memcpy(block, header, kHeaderBytes * kHeaders);
    std::memcpy(block + kHeaderBytes * kHeaders, words, 4 * kWords);
  }
};

// Q4_K and Q5_K: in the file sub-blocks 2j and 2j + 1 are the low and high nibbles of 32 bytes.
template <bool kHighBits>
struct K45 {
  static constexpr size_t kHeaderBytes = 2, kHeaders = 2, kSubWords = 4 + kHighBits, kWords = 3 + 8 * kSubWords;
  static constexpr size_t kBytes = 16 + size_t{4} * 8 * kSubWords;

  // Word order: six-bit (scale, min) of sub-blocks 0..7, then per sub-block [bit plane] nibble plane.
  static void Split(const uint8_t* block, uint8_t* header, uint32_t* words) {
    std::memcpy(header, block, 4);
    const uint8_t* s = block + 4;
    uint8_t values[16];
    for (size_t j = 0; j < 4; ++j) {
      values[2 * j] = s[j] & 63;
      values[2 * j + 1] = s[j + 4] & 63;
      values[2 * j + 8] = static_cast<uint8_t>((s[j + 8] & 15) | ((s[j] >> 6) << 4));
      values[2 * j + 9] = static_cast<uint8_t>((s[j + 8] >> 4) | ((s[j + 4] >> 6) << 4));
    }
    PackSixes(values, words);
    const uint8_t* high = block + 16;
    const uint8_t* nibbles = high + (kHighBits ? 32 : 0);
    for (size_t sub = 0; sub < 8; ++sub) {
      uint32_t* out = words + 3 + sub * kSubWords;
      if constexpr (kHighBits) {
        out[0] = 0;
        for (size_t q = 0; q < 8; ++q) out[0] |= ((Load32(high + 4 * q) >> sub) & kLowBits) << q;
        ++out;
      }
      const uint8_t* from = nibbles + sub / 2 * 32;
      const uint32_t shift = 4 * (sub % 2);
      for (size_t q = 0; q < 4; ++q) {
        out[q] = ((Load32(from + 4 * q) >> shift) & kLowNibbles) |
                 (((Load32(from + 4 * q + 16) >> shift) & kLowNibbles) << 4);
      }
    }
  }

  static void Join(const uint8_t* header, uint32_t* words, uint8_t* block) {
    std::memset(block, 0, kBytes);
    std::memcpy(block, header, 4);
    uint8_t values[16];
    UnpackSixes(words, values);
    uint8_t* s = block + 4;
    for (size_t j = 0; j < 4; ++j) {
      s[j] = static_cast<uint8_t>(values[2 * j] | ((values[2 * j + 8] >> 4) << 6));
      s[j + 4] = static_cast<uint8_t>(values[2 * j + 1] | ((values[2 * j + 9] >> 4) << 6));
      s[j + 8] = static_cast<uint8_t>((values[2 * j + 8] & 15) | ((values[2 * j + 9] & 15) << 4));
    }
    uint8_t* high = block + 16;
    uint8_t* nibbles = high + (kHighBits ? 32 : 0);
    for (size_t sub = 0; sub < 8; ++sub) {
      const uint32_t* in = words + 3 + sub * kSubWords;
      if constexpr (kHighBits) {
        for (size_t q = 0; q < 8; ++q) {
          Store32(Load32(high + 4 * q) | (((in[0] >> q) & kLowBits) << sub), high + 4 * q);
        }
        ++in;
      }
      uint8_t* to = nibbles + sub / 2 * 32;
      const uint32_t shift = 4 * (sub % 2);
      for (size_t q = 0; q < 4; ++q) {
        Store32(Load32(to + 4 * q) | ((in[q] & kLowNibbles) << shift), to + 4 * q);
        Store32(Load32(to + 4 * q + 16) | (((in[q] >> 4) & kLowNibbles) << shift), to + 4 * q + 16);
      }
    }
  }
};

// Q6_K: per half of 128 elements, 64 bytes of low nibbles and 32 bytes of high pairs serve four runs of 32 elements.
struct K6 {
  static constexpr size_t kHeaderBytes = 2, kHeaders = 1, kWords = 4 + 8 * 6;
  static constexpr size_t kBytes = 210;

  // Word order: 16 int8 scales, then per run of 32 elements pair plane, nibble plane.
  static void Split(const uint8_t* block, uint8_t* header, uint32_t* words) {
    std::memcpy(header, block + 208, 2);
    std::memcpy(words, block + 192, 16);
    for (size_t sub = 0; sub < 8; ++sub) {
      uint32_t* out = words + 4 + 6 * sub;
      const size_t run = sub % 4;
      const uint8_t* low = block + sub / 4 * 64 + run % 2 * 32;
      const uint8_t* high = block + 128 + sub / 4 * 32;
      out[0] = out[1] = 0;
      for (size_t q = 0; q < 8; ++q) out[q / 4] |= ((Load32(high + 4 * q) >> (2 * run)) & kLowPairs) << (2 * (q % 4));
      const size_t shift = 4 * (run / 2);
      for (size_t q = 0; q < 4; ++q) {
        out[2 + q] =
            ((Load32(low + 4 * q) >> shift) & kLowNibbles) | (((Load32(low + 4 * q + 16) >> shift) & kLowNibbles) << 4);
      }
    }
  }

  static void Join(const uint8_t* header, uint32_t* words, uint8_t* block) {
    std::memset(block, 0, kBytes);
    std::memcpy(block + 208, header, 2);
    std::memcpy(block + 192, words, 16);
    for (size_t sub = 0; sub < 8; ++sub) {
      const uint32_t* in = words + 4 + 6 * sub;
      const size_t run = sub % 4;
      uint8_t* low = block + sub / 4 * 64 + run % 2 * 32;
      uint8_t* high = block + 128 + sub / 4 * 32;
      for (size_t q = 0; q < 8; ++q) {
        Store32(Load32(high + 4 * q) | (((in[q / 4] >> (2 * (q % 4))) & kLowPairs) << (2 * run)), high + 4 * q);
      }
      const size_t shift = 4 * (run / 2);
      for (size_t q = 0; q < 4; ++q) {
        Store32(Load32(low + 4 * q) | ((in[2 + q] & kLowNibbles) << shift), low + 4 * q);
        Store32(Load32(low + 4 * q + 16) | (((in[2 + q] >> 4) & kLowNibbles) << shift), low + 4 * q + 16);
      }
    }
  }
};

// Q2_K and Q3_K: per half of 128 elements, 32 bytes whose four bit pairs serve four runs of 32 elements; Q3_K adds a
// high bit.
struct PairRuns {
  static void Split(const uint8_t* qs, size_t sub, uint32_t* out) {
    const uint8_t* from = qs + sub / 4 * 32;
    out[0] = out[1] = 0;
    for (size_t q = 0; q < 8; ++q) {
      out[q / 4] |= ((Load32(from + 4 * q) >> (2 * (sub % 4))) & kLowPairs) << (2 * (q % 4));
    }
  }
  static void Join(const uint32_t* in, size_t sub, uint8_t* qs) {
    uint8_t* to = qs + sub / 4 * 32;
    for (size_t q = 0; q < 8; ++q) {
      Store32(Load32(to + 4 * q) | (((in[q / 4] >> (2 * (q % 4))) & kLowPairs) << (2 * (sub % 4))), to + 4 * q);
    }
  }
};

struct K2 {
  static constexpr size_t kHeaderBytes = 2, kHeaders = 2, kWords = 4 + 8 * 2;
  static constexpr size_t kBytes = 84;

  // Word order: 16 bytes (scale in the low nibble, min in the high one), then pair planes.
  static void Split(const uint8_t* block, uint8_t* header, uint32_t* words) {
    std::memcpy(header, block + 80, 4);
    std::memcpy(words, block, 16);
    for (size_t sub = 0; sub < 8; ++sub) PairRuns::Split(block + 16, sub, words + 4 + 2 * sub);
  }
  static void Join(const uint8_t* header, uint32_t* words, uint8_t* block) {
    std::memset(block, 0, kBytes);
    std::memcpy(block + 80, header, 4);
    std::memcpy(block, words, 16);
    for (size_t sub = 0; sub < 8; ++sub) PairRuns::Join(words + 4 + 2 * sub, sub, block + 16);
  }
};

struct K3 {
  static constexpr size_t kHeaderBytes = 2, kHeaders = 1, kWords = 3 + 8 * 3;
  static constexpr size_t kBytes = 110;

  // Word order: 16 six-bit scales, then per run of 32 elements bit plane, pair plane.
  static void Split(const uint8_t* block, uint8_t* header, uint32_t* words) {
    std::memcpy(header, block + 108, 2);
    const uint8_t* s = block + 96;
    uint8_t values[16];
    for (size_t i = 0; i < 16; ++i) {
      const unsigned low = i < 8 ? s[i] & 15u : s[i - 8] >> 4u;
      values[i] = static_cast<uint8_t>(low | (((s[8 + i % 4] >> (2 * (i / 4))) & 3u) << 4));
    }
    PackSixes(values, words);
    for (size_t sub = 0; sub < 8; ++sub) {
      uint32_t* out = words + 3 + 3 * sub;
      out[0] = 0;
      for (size_t q = 0; q < 8; ++q) out[0] |= ((Load32(block + 4 * q) >> sub) & kLowBits) << q;
      PairRuns::Split(block + 32, sub, out + 1);
    }
  }
  static void Join(const uint8_t* header, uint32_t* words, uint8_t* block) {
    std::memset(block, 0, kBytes);
    std::memcpy(block + 108, header, 2);
    uint8_t values[16];
    UnpackSixes(words, values);
    uint8_t* s = block + 96;
    for (size_t i = 0; i < 16; ++i) {
      s[i % 8] |= static_cast<uint8_t>((values[i] & 15) << (i < 8 ? 0 : 4));
      s[8 + i % 4] |= static_cast<uint8_t>((values[i] >> 4) << (2 * (i / 4)));
    }
    for (size_t sub = 0; sub < 8; ++sub) {
      const uint32_t* in = words + 3 + 3 * sub;
      for (size_t q = 0; q < 8; ++q) {
        Store32(Load32(block + 4 * q) | (((in[0] >> q) & kLowBits) << sub), block + 4 * q);
      }
      PairRuns::Join(in + 1, sub, block + 32);
    }
  }
};

// IQ4_XS: f16 scale and 16 high bits of sub-scales as fields; 8 low nibbles of sub-scales as a word; nibble planes.
using Xs4 = Simple<DType::kIQ4_XS, 2, 2, 33>;

template <class Layout>
void InterleaveAs(const uint8_t* src, size_t row_bytes, size_t rows, size_t blocks, size_t group, uint8_t* dst) {
  for (size_t b = 0; b < blocks; ++b, src += Layout::kBytes, dst += Layout::kBytes * group) {
    if (rows < group) std::memset(dst, 0, Layout::kBytes * group);
    uint8_t* dst_words = dst + Layout::kHeaderBytes * Layout::kHeaders * group;
    for (size_t r = 0; r < rows; ++r) {
      uint8_t header[Layout::kHeaderBytes * Layout::kHeaders];
      uint32_t words[Layout::kWords];
      Layout::Split(src + r * row_bytes, header, words);
      for (size_t h = 0; h < Layout::kHeaders; ++h) {
        std::memcpy(dst + (h * group + r) * Layout::kHeaderBytes, header + h * Layout::kHeaderBytes,
                    Layout::kHeaderBytes);
      }
      for (size_t w = 0; w < Layout::kWords; ++w) Store32(words[w], dst_words + (w * group + r) * 4);
    }
  }
}

template <class Layout>
void ExtractAs(const uint8_t* src, size_t row, size_t group, uint8_t* block) {
  uint8_t header[Layout::kHeaderBytes * Layout::kHeaders];
  uint32_t words[Layout::kWords];
  for (size_t h = 0; h < Layout::kHeaders; ++h) {
    std::memcpy(header + h * Layout::kHeaderBytes, src + (h * group + row) * Layout::kHeaderBytes,
                Layout::kHeaderBytes);
  }
  const uint8_t* src_words = src + Layout::kHeaderBytes * Layout::kHeaders * group;
  for (size_t w = 0; w < Layout::kWords; ++w) words[w] = Load32(src_words + (w * group + row) * 4);
  Layout::Join(header, words, block);
}

// Calls visit with a value of the layout of `type`; false for types that are not interleaved.
template <class Visit>
bool WithLayout(DType type, Visit&& visit) {
  switch (type) {
    case DType::kQ4_0:
      visit(Simple<DType::kQ4_0, 2, 1, 4>());
      return true;
    case DType::kQ4_1:
      visit(Simple<DType::kQ4_1, 2, 2, 4>());
      return true;
    case DType::kQ5_0:
      visit(Simple<DType::kQ5_0, 2, 1, 4, true>());
      return true;
    case DType::kQ5_1:
      visit(Simple<DType::kQ5_1, 2, 2, 4, true>());
      return true;
    case DType::kQ8_0:
      visit(Simple<DType::kQ8_0, 2, 1, 8>());
      return true;
    case DType::kIQ4_NL:
      visit(Simple<DType::kIQ4_NL, 2, 1, 4>());
      return true;
    case DType::kMXFP4:
      visit(Simple<DType::kMXFP4, 1, 1, 4>());
      return true;
    case DType::kIQ4_XS:
      visit(Xs4());
      return true;
    case DType::kQ2_K:
      visit(K2());
      return true;
    case DType::kQ3_K:
      visit(K3());
      return true;
    case DType::kQ4_K:
      visit(K45<false>());
      return true;
    case DType::kQ5_K:
      visit(K45<true>());
      return true;
    case DType::kQ6_K:
      visit(K6());
      return true;
    default:
      return false;
  }
}

}  // namespace

void InterleaveBlocks(DType type, const uint8_t* src, size_t row_bytes, size_t rows, size_t blocks, size_t group,
                      uint8_t* dst) {
  WithLayout(type, [&]<class Layout>(Layout) { InterleaveAs<Layout>(src, row_bytes, rows, blocks, group, dst); });
}

void ExtractBlock(DType type, const uint8_t* group_block, size_t row, size_t group, uint8_t* block) {
  WithLayout(type, [&]<class Layout>(Layout) { ExtractAs<Layout>(group_block, row, group, block); });
}

}  // namespace prenorm::matmul
