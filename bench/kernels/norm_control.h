// Loops that load and store as the norms do and compute next to nothing: what memory and ports alone would cost.
#pragma once

#include <cstddef>

namespace prenorm {

/// Reads x, then reads x and gain and writes out: the traffic of RMSNorm of one row.
void ControlNormRow(const float* x, const float* gain, float* out, size_t cols);

/// Reads x and writes out.
void ControlCopyRow(const float* x, float* out, size_t cols);

}  // namespace prenorm
