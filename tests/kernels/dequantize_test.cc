// Every storage type decodes to the bits that the `gguf` package gives. Golden hashes: tests/golden/make_dequantize.py.
#include "prenorm/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace prenorm {
namespace {

struct Golden {
  DType type;
  std::vector<uint64_t> hashes;
};

const std::vector<Golden>& AllGolden() {
  static const std::vector<Golden>* const all = new std::vector<Golden>{
#include "tests/golden/dequantize_golden.inc"
  };
  return *all;
}

constexpr uint16_t kExtremes[8] = {0x2E66, 0xAE66, 0x0001, 0x83FF, 0x7BFF, 0x0000, 0x8000, 0x7C00};
constexpr uint8_t kExponents[8] = {0, 1, 2, 3, 120, 127, 254, 255};

std::vector<size_t> ScaleOffsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    case DType::kMXFP4:
      return {};
    default:
      return {0};
  }
}

std::vector<uint8_t> GoldenBlock(DType type, size_t index) {
  std::vector<uint8_t> block(InfoOf(type).block_bytes + 7);
  uint64_t seed = static_cast<uint64_t>(type) * 1000 + index;
  for (size_t i = 0; i + 8 <= block.size(); i += 8) {  // splitmix64
    seed += 0x9E3779B97F4A7C15u;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    std::memcpy(block.data() + i, &z, sizeof(z));
  }
  block.resize(InfoOf(type).block_bytes);
  const std::vector<size_t> offsets = ScaleOffsets(type);
  for (size_t field = 0; field < offsets.size(); ++field) {
    std::memcpy(block.data() + offsets[field], &kExtremes[(index + 3 * field) % 8], sizeof(uint16_t));
  }
  if (type == DType::kMXFP4) block[0] = kExponents[index % 8];
  return block;
}

uint64_t Hash(const std::vector<float>& values) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const float value : values) {
    const uint32_t bits = std::isnan(value) ? 0x7FC00000u : std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((bits >> shift) & 0xFF)) * 0x100000001B3u;
  }
  return hash;
}

TEST(DequantizeTest, EveryBlockTypeGivesTheBitsOfTheGgufPackage) {
  size_t checked = 0;
  for (const Golden& golden : AllGolden()) {
    const DTypeInfo info = InfoOf(golden.type);
    if (info.block_elems == 1) continue;
    for (size_t i = 0; i < golden.hashes.size(); ++i) {
      const std::vector<uint8_t> block = GoldenBlock(golden.type, i);
      std::vector<float> values(info.block_elems);
      DequantizeRow(golden.type, block.data(), values.size(), values.data());
      EXPECT_EQ(Hash(values), golden.hashes[i]) << info.name << " block " << i;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 15u * 16u);
}

TEST(DequantizeTest, EveryF16AndBF16PatternIsExact) {
  for (const Golden& golden : AllGolden()) {
    if (InfoOf(golden.type).block_elems != 1) continue;
    std::vector<uint16_t> patterns(65536);
    for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
    std::vector<float> values(patterns.size());
    DequantizeRow(golden.type, patterns.data(), values.size(), values.data());
    EXPECT_EQ(Hash(values), golden.hashes[0]) << InfoOf(golden.type).name;
  }
}

TEST(DequantizeTest, SubnormalsOfHalfPrecisionDecodeExactly) {  // F27, F28
  const uint16_t f16_patterns[3] = {0x0001, 0x03FF, 0x8001};
  float values[3];
  DequantizeRow(DType::kF16, f16_patterns, 3, values);
  EXPECT_EQ(values[0], std::ldexp(1.0f, -24));
  EXPECT_EQ(values[1], 6.0975552e-05f);
  EXPECT_EQ(values[2], -std::ldexp(1.0f, -24));
  const uint16_t bf16_pattern = 0x0001;
  DequantizeRow(DType::kBF16, &bf16_pattern, 1, values);
  EXPECT_EQ(std::bit_cast<uint32_t>(values[0]), 0x00010000u) << "9.1835496e-41";
  EXPECT_EQ(ToBf16(values[0]).bits, 0x0001);
}

TEST(DequantizeTest, ARangeEqualsThatPartOfTheRow) {
  for (const Golden& golden : AllGolden()) {
    const DTypeInfo info = InfoOf(golden.type);
    if (info.block_elems == 1) continue;
    std::vector<uint8_t> row(1);  // Odd addresses: blocks need no alignment.
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<uint8_t> block = GoldenBlock(golden.type, 8 * i);
      row.insert(row.end(), block.begin(), block.end());
    }
    const size_t cols = 3 * info.block_elems;
    std::vector<float> whole(cols);
    DequantizeRow(golden.type, row.data() + 1, cols, whole.data());
    const size_t edges[] = {0, 1, info.block_elems - 1, info.block_elems, info.block_elems + 5, cols - 1, cols};
    for (const size_t begin : edges) {
      for (const size_t end : edges) {
        if (end < begin) continue;
        std::vector<float> part(end - begin + 1, 12345.0f);
        DequantizeRange(golden.type, row.data() + 1, begin, end, part.data());
        EXPECT_EQ(std::memcmp(part.data(), whole.data() + begin, (end - begin) * sizeof(float)), 0)
            << info.name << " [" << begin << ", " << end << ")";
        EXPECT_EQ(part.back(), 12345.0f) << "wrote past the range";
      }
    }
  }
}

}  // namespace
}  // namespace prenorm
