// Products of MXFP4 matrices on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_mxfp4.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul_quantized-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

void ProductMXFP4(const matmul::Int8Product& product) { MatMulQuantized<CodecMXFP4>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {

HWY_EXPORT(ProductMXFP4);

void matmul::MatMulMXFP4(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(ProductMXFP4)(product); }

}  // namespace prenorm
#endif  // HWY_ONCE
