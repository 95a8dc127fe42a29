// Loops that load and store as the norms do and compute next to nothing: what memory and ports alone would cost.
#pragma once

#include <cstddef>

namespace prenorm::tools {

/// Reads x, then reads x and gain and writes out: the traffic of RMSNorm of one row. cols: a multiple of 32.
void ControlNormRow(const float* x, const float* gain, float* out, size_t cols);

/// Copies `bytes`, a multiple of 4, shared among `threads`; `streamed` by stores that go past the caches. Both pointers
/// must be aligned to 64 bytes.
void ControlCopy(const void* from, void* to, size_t bytes, size_t threads, bool streamed);

}  // namespace prenorm::tools
