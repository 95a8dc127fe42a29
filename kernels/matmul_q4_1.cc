// Products of Q4_1 matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_q4_1.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductQ4_1(const matmul::Int8Product& product) { MatMulQuantized<CodecQ4_1>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductQ4_1);

void matmul::MatMulQ4_1(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductQ4_1)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
