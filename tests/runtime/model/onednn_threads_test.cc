// What a thread keeps for products by oneDNN goes with the thread: hosts start and end many. Skipped where oneDNN or the
// tiles of the processor are missing.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/model/onednn_product.h"
#include "tests/support/failing_malloc.h"

namespace prenorm {
namespace {

TEST(OneDnnThreadsTest, PrimitivesAndWeightsGoWithTheirThread) {
  if (!OneDnnServes()) GTEST_SKIP() << "no oneDNN, or no tiles for bf16";
  constexpr size_t kN = 150, kRows = 80, kCols = 64;  // Two tiles of tokens, two pieces of rows.
  const std::vector<bf16> w(kRows * kCols), planes(2 * kN * kCols);
  std::vector<float> out(kN * kRows);
  const WeightMatrix matrix{DType::kBF16, kRows, kCols, w.data(), false};
  const auto once = [&] {
    std::thread([&] {
      const Range all{0, kRows};
      EXPECT_EQ(OneDnnMatMul(matrix, all, planes.data(), kN, out.data(), kRows, /*accumulate=*/false).rows, kRows);
    }).join();
  };
  once();  // What oneDNN keeps for the process comes now.
  const int64_t held = FailingMalloc::Held();
  for (int i = 0; i < 8; ++i) once();
  EXPECT_LE(FailingMalloc::Held(), held + 4);
}

}  // namespace
}  // namespace prenorm
