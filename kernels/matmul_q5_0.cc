// Products of Q5_0 matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_q5_0.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductQ5_0(const matmul::Int8Product& product) { MatMulQuantized<CodecQ5_0>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductQ5_0);

void matmul::MatMulQ5_0(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductQ5_0)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
