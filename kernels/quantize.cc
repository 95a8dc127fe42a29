// Choice of the block encoder.
#include "prenorm/quantize.h"

#include "kernels/quantize_blocks.h"

namespace prenorm {
namespace {

QuantizeBlocksFn EncoderOf(DType type) {
  switch (type) {
    case DType::kF32:
      return QuantizeF32;
    case DType::kF16:
      return QuantizeF16;
    case DType::kBF16:
      return QuantizeBF16;
    case DType::kQ4_0:
      return QuantizeQ4_0;
    case DType::kQ4_1:
      return QuantizeQ4_1;
    case DType::kQ5_0:
      return QuantizeQ5_0;
    case DType::kQ5_1:
      return QuantizeQ5_1;
    case DType::kQ8_0:
      return QuantizeQ8_0;
    case DType::kQ4_K:
      return QuantizeQ4_K;
    case DType::kQ5_K:
      return QuantizeQ5_K;
    case DType::kQ6_K:
      return QuantizeQ6_K;
    default:
      return nullptr;
  }
}

}  // namespace

bool CanQuantize(DType type) { return EncoderOf(type) != nullptr; }

void QuantizeRow(DType type, const float* x, size_t cols, void* blocks) {
  EncoderOf(type)(x, cols / InfoOf(type).block_elems, static_cast<uint8_t*>(blocks));
}

}  // namespace prenorm
