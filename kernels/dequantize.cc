// Choice of the block decoder, whole rows and ranges.
#include "prenorm/dequantize.h"

#include <algorithm>

#include "kernels/dequantize_blocks.h"

namespace prenorm {
namespace {

constexpr size_t kMaxBlockElems = 256;

DequantizeBlocksFn DecoderOf(DType type) {
  switch (type) {
    case DType::kF32:
      return DequantizeF32;
    case DType::kF16:
      return DequantizeF16;
    case DType::kBF16:
      return DequantizeBF16;
    case DType::kQ4_0:
      return DequantizeQ4_0;
    case DType::kQ4_1:
      return DequantizeQ4_1;
    case DType::kQ5_0:
      return DequantizeQ5_0;
    case DType::kQ5_1:
      return DequantizeQ5_1;
    case DType::kQ8_0:
      return DequantizeQ8_0;
    case DType::kQ2_K:
      return DequantizeQ2_K;
    case DType::kQ3_K:
      return DequantizeQ3_K;
    case DType::kQ4_K:
      return DequantizeQ4_K;
    case DType::kQ5_K:
      return DequantizeQ5_K;
    case DType::kQ6_K:
      return DequantizeQ6_K;
    case DType::kIQ3_XXS:
      return DequantizeIQ3_XXS;
    case DType::kIQ3_S:
      return DequantizeIQ3_S;
    case DType::kIQ4_NL:
      return DequantizeIQ4_NL;
    case DType::kIQ4_XS:
      return DequantizeIQ4_XS;
    case DType::kMXFP4:
      return DequantizeMXFP4;
  }
  return nullptr;
}

}  // namespace

void DequantizeRow(DType type, const void* blocks, size_t cols, float* out) {
  DecoderOf(type)(static_cast<const uint8_t*>(blocks), cols / InfoOf(type).block_elems, out);
}

void DequantizeRange(DType type, const void* blocks, size_t begin, size_t end, float* out) {
  const DTypeInfo info = InfoOf(type);
  const DequantizeBlocksFn decode = DecoderOf(type);
  const auto* bytes = static_cast<const uint8_t*>(blocks);
  while (begin < end) {
    const size_t block = begin / info.block_elems;
    const size_t within = begin % info.block_elems;
    const uint8_t* from = bytes + block * info.block_bytes;
    size_t count;
    if (within == 0 && end - begin >= info.block_elems) {
      const size_t whole = (end - begin) / info.block_elems;
      decode(from, whole, out);
      count = whole * info.block_elems;
    } else {  // The head or the tail of a block that is not wanted whole.
      float values[kMaxBlockElems];
      decode(from, 1, values);
      count = std::min(info.block_elems - within, end - begin);
      std::copy_n(values + within, count, out);
    }
    begin += count;
    out += count;
  }
}

}  // namespace prenorm
