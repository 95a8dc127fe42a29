// Products of F32, F16, BF16 and dequantized matrices on every target.
#include "kernels/matmul_float.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductFloat(const matmul::FloatProduct& product) {
  switch (product.w.type) {
    case DType::kF32:
      return MatMulPlain<float>(product);
    case DType::kF16:
      return MatMulPlain<f16>(product);
    case DType::kBF16:
      return MatMulPlain<bf16>(product);
    default:
      return MatMulDequantized(product);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductFloat);

void matmul::MatMulFloat(const FloatProduct& product) { HWY_DYNAMIC_DISPATCH(ProductFloat)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
