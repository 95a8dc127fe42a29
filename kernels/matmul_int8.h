// What the quantized products share with each other and with the packing of activations; no SIMD in sight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/matmul.h"

namespace prenorm::matmul {

// 32 activations of one row, one cache line. A pack is tiles of consecutive rows; in a tile of width w, block b of its
// row j is at index b * w + j. Tiles have kTile rows while so many remain, then half as many and so on down to one.
struct ActivationBlock {
  int8_t codes[32];
  float scale[2];   // of each 16 elements
  float sum[2];     // scale * sum of the 16 codes
  float sum32;      // sum[0] + sum[1]
  int32_t bias[2];  // -128 * sum of the 16 codes: starts the dots of signed codes that carry an offset of 128
  uint32_t unused;
};
static_assert(sizeof(ActivationBlock) == 64 && kActivationBlock == 16);

constexpr size_t TileWidth(size_t tile, size_t remaining) {
  while (tile > remaining) tile /= 2;
  return tile;
}

// Arguments of MatMul for one quantized type.
struct Int8Product {
  WeightMatrix w;
  size_t row_begin, row_end;
  const ActivationBlock* x;
  size_t n;
  float* out;
  size_t out_stride;
  bool accumulate;
  void* scratch;  // MatMulScratchBytes, or null
};

// Rows of a panel whose codes are unpacked into the scratch memory.
inline constexpr size_t kMaxExpandedRows = 128;

// One per codec, each in a unit of its own, on the active target.
void MatMulQ4_0(const Int8Product& product);
void MatMulQ4_1(const Int8Product& product);
void MatMulQ5_0(const Int8Product& product);
void MatMulQ5_1(const Int8Product& product);
void MatMulQ8_0(const Int8Product& product);
void MatMulQ2_K(const Int8Product& product);
void MatMulQ3_K(const Int8Product& product);
void MatMulQ4_K(const Int8Product& product);
void MatMulQ5_K(const Int8Product& product);
void MatMulQ6_K(const Int8Product& product);
void MatMulIQ4_NL(const Int8Product& product);
void MatMulIQ4_XS(const Int8Product& product);
void MatMulMXFP4(const Int8Product& product);

}  // namespace prenorm::matmul
