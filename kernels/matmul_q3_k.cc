// Products of Q3_K matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_q3_k.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductQ3_K(const matmul::Int8Product& product) { MatMulQuantized<CodecQ3_K>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductQ3_K);

void matmul::MatMulQ3_K(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductQ3_K)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
