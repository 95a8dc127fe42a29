// Products of IQ4_XS matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_iq4_xs.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductIQ4_XS(const matmul::Int8Product& product) { MatMulQuantized<CodecIQ4_XS>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductIQ4_XS);

void matmul::MatMulIQ4_XS(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductIQ4_XS)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
