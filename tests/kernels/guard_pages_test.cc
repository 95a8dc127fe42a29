// The kernels of the engine between pages that cannot be touched, on every SIMD target: not a byte before or behind an
// operand is read or written. The norms' own tests do the same for theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "prenorm/attention.h"
#include "prenorm/dequantize.h"
#include "prenorm/matmul.h"
#include "prenorm/matmul_panels.h"
#include "prenorm/ops.h"
#include "prenorm/quantize.h"
#include "prenorm/types.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

constexpr uint8_t kFiller = 0x2C;  // Small finite numbers in every type.

std::vector<DType> AllTypes() {
  std::vector<DType> types;
  for (uint32_t id = 0; id < 64; ++id) {
    if (InfoOf(static_cast<DType>(id)).name != nullptr) types.push_back(static_cast<DType>(id));
  }
  return types;
}

// Bytes at one end of a guarded buffer.
struct Operand : GuardedBuffer<uint8_t> {
  Operand(size_t bytes, bool at_end) : GuardedBuffer(bytes, at_end) { std::memset(data(), kFiller, bytes); }
  float* floats() const { return reinterpret_cast<float*>(data()); }
};

/// Calls body(at_end) under each target for operands at both ends.
template <typename Body>
void Everywhere(const Body& body) {
  ForEachTarget([&] {
    for (const bool at_end : {false, true}) body(at_end);
  });
}

TEST(GuardPagesTest, RowsOfEveryType) {
  Everywhere([](bool at_end) {
    for (const DType type : AllTypes()) {
      const size_t block = InfoOf(type).block_elems;
      for (const size_t blocks : {1, 2, 3, 7}) {
        const size_t cols = blocks * block;
        const Operand row(RowBytes(type, cols), at_end), out(cols * sizeof(float), at_end);
        DequantizeRow(type, row.data(), cols, out.floats());
        if (CanQuantize(type)) QuantizeRow(type, out.floats(), cols, row.data());
        const Operand part(3 * sizeof(float), at_end);
        if (cols > 3) DequantizeRange(type, row.data(), cols - 3, cols, part.floats());
      }
    }
  });
}

TEST(GuardPagesTest, ProductsOfEveryType) {
  Everywhere([](bool at_end) {
    for (const DType type : AllTypes()) {
      const size_t cols = std::max<size_t>(InfoOf(type).block_elems, 32) * 3;
      const ActivationFormat format = ActivationFormatOf(type);
      for (const size_t rows : {size_t{5}, 2 * RowGroup() + 3}) {
        const Operand weights(rows * RowBytes(type, cols), at_end);
        WeightMatrix w{type, rows, cols, weights.data(), false};
        if (CanInterleave(type)) {
          const Operand scratch(RowGroup() * RowBytes(type, cols), at_end);
          InterleaveRows(type, cols, weights.data(), 0, rows / RowGroup(), scratch.data());
          w.interleaved = true;
        }
        const Operand scratch(MatMulScratchBytes(cols), at_end);
        for (const size_t n : {1, 2, 5, 17, 45}) {  // From 12 or 32 on panels are unpacked into the scratch memory.
          const Operand x(n * cols * sizeof(float), at_end), out(n * rows * sizeof(float), at_end);
          const Operand pack(ActivationBytes(format, cols, n), at_end);
          PackActivations(format, x.floats(), cols, cols, 0, n, n, pack.data());
          MatMul(w, 0, rows, pack.data(), n, out.floats(), rows, /*accumulate=*/false);
          MatMul(w, rows - 1, rows, pack.data(), n, out.floats(), rows, /*accumulate=*/true);
          MatMul(w, 0, rows, pack.data(), n, out.floats(), rows, /*accumulate=*/false, scratch.data());
        }
        const Operand row(cols * sizeof(float), at_end);
        for (size_t r = 0; r < rows; ++r) DequantizeWeightRow(w, r, row.floats());
      }
    }
  });
}

TEST(GuardPagesTest, PackedPanels) {
  Everywhere([](bool at_end) {
    for (const DType type : AllTypes()) {
      const size_t cols = std::max<size_t>(InfoOf(type).block_elems, 32);
      for (const size_t rows : {size_t{5}, kPanelRows + 7}) {
        const Operand weights(rows * RowBytes(type, cols), at_end);
        const Operand unpacked(PanelRowFloats(cols) * sizeof(float), at_end);
        const Operand panels(PanelCount(rows) * kPanelRows * cols * sizeof(float), at_end);
        PackPanels({type, rows, cols, weights.data(), false}, 0, PanelCount(rows), unpacked.floats(), panels.floats());
        const size_t first = (PanelCount(rows) - 1) * kPanelRows, last_rows = rows - first;
        for (const size_t n : {1, 6, 13}) {
          const Operand x(n * cols * sizeof(float), at_end), out(n * last_rows * sizeof(float), at_end);
          const Operand bias(last_rows * sizeof(float), at_end);
          for (const bool accumulate : {false, true}) {
            MatMulPanel(panels.floats() + first * cols, last_rows, cols, x.floats(), n, bias.floats(), out.floats(),
                        last_rows, accumulate);
          }
        }
      }
    }
  });
}

TEST(GuardPagesTest, AttentionOverEveryCache) {
  Everywhere([](bool at_end) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
      for (const size_t head_dim : {32, 96}) {
        for (const size_t positions : {1, 33, 300}) {
          const Operand keys(KeyCapacity(positions) * RowBytes(type, head_dim), at_end);
          const Operand values(positions * RowBytes(type, head_dim), at_end);
          const Operand fresh(positions * head_dim * sizeof(float), at_end);
          AttentionArgs args{{type, head_dim, keys.data(), values.data()}, 0.1f};
          StoreKv(args.cache, 0, positions, fresh.floats(), fresh.floats(), head_dim);
          for (const size_t rows : {1, 3}) {
            const Operand q(rows * head_dim * sizeof(float), at_end), out(rows * head_dim * sizeof(float), at_end);
            const Operand scratch(AttentionScratchBytes(rows, head_dim, type), at_end);
            const std::vector<size_t> ends(rows, positions);
            Attention(args, q.floats(), head_dim, ends.data(), rows, out.floats(), head_dim, scratch.data());
            const Operand partials(rows * AttentionPartialFloats(head_dim) * sizeof(float), at_end);
            AttentionChunk(args, q.floats(), head_dim, ends.data(), rows, 0, partials.floats(), scratch.data());
            AttentionMerge(partials.floats(), 1, rows, head_dim, out.floats(), head_dim);
          }
        }
      }
    }
  });
}

TEST(GuardPagesTest, ElementwiseKernels) {
  Everywhere([](bool at_end) {
    for (size_t n = 2; n <= 70; n += 2) {
      const Operand x(n * sizeof(float), at_end), y(n * sizeof(float), at_end);
      const Operand cos(n / 2 * sizeof(float), at_end), sin(n / 2 * sizeof(float), at_end);
      RopeAngles(cos.floats(), n / 2, 7, 1.0f, cos.floats(), sin.floats());
      for (const RopePairs pairs : {RopePairs::kNeighbours, RopePairs::kHalves}) {
        ApplyRope(x.floats(), n, 1, n, n, cos.floats(), sin.floats(), pairs);
      }
      for (const Gate gate : {Gate::kSilu, Gate::kGeluTanh, Gate::kGeluErf, Gate::kRelu, Gate::kReluSquared}) {
        Activation(gate, x.floats(), y.floats(), n);
        GatedActivation(gate, x.floats(), y.floats(), y.floats(), n);
      }
      SoftCap(x.floats(), n, 3.0f);
      AddInPlace(x.floats(), y.floats(), n);
      ScaleInPlace(x.floats(), 0.5f, n);
      EXPECT_LT(ArgMax(x.floats(), n), n);
    }
  });
}

}  // namespace
}  // namespace prenorm
