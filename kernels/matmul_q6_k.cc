// Products of Q6_K matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_q6_k.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductQ6_K(const matmul::Int8Product& product) { MatMulQuantized<CodecQ6_K>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductQ6_K);

void matmul::MatMulQ6_K(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductQ6_K)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
