// Products of BF16 matrices with many tokens by oneDNN, on machines with tiles for bf16 (AMX). The only place that
// knows oneDNN. The library is loaded when it is first needed; without it nothing changes but the speed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/matmul.h"
#include "runtime/parallel/team.h"

namespace prenorm {

/// Tokens from which on such a product is worth the making of its kernel.
inline constexpr size_t kOneDnnTokens = 64;

/// Rows that go to oneDNN together: pieces that do not depend on the number of threads, whose bits then do not either.
inline constexpr size_t kOneDnnRows = 64;

/// True if oneDNN serves the active target. Loads it: PRENORM_ONEDNN_LIBRARY of the environment, else the file found
/// when this library was built, else libdnnl.so.3 of the system. It must share our OpenMP runtime.
bool OneDnnServes();

/// Writes rows [begin, end) of x [n, cols] as two planes of bf16, [2, n, cols], whose sum is x with 16 bits: products
/// then are as exact as with f32 rows for all that a model can tell, where one plane would lose half of them.
void SplitBf16(const float* x, size_t cols, size_t begin, size_t end, size_t n, bf16* planes);

/// How far a product came: so many rows whole, and of the kOneDnnRows behind them so many tokens.
struct OneDnnDone {
  size_t rows = 0, tokens = 0;
};

/// MatMul for BF16 with planes as its input; rows.begin is a multiple of kOneDnnRows. Stops where oneDNN reports a
/// failure, of memory for one; what lies behind is untouched. (oneDNN 3.2 does not survive all failed allocations.)
///
/// Threads   to be called by several threads of a region at once, for rows of their own.
OneDnnDone OneDnnMatMul(const WeightMatrix& w, Range rows, const bf16* planes, size_t n, float* out, size_t out_stride,
                        bool accumulate);

/// Products that oneDNN has made in this process.
uint64_t OneDnnProducts();

}  // namespace prenorm
