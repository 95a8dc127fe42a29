// Products for many rows of activations: with scratch memory, and of matrices that were packed for them once.
#pragma once

#include <cstddef>

#include "prenorm/matmul.h"

namespace prenorm {

/// Bytes of scratch memory for matrices of up to `cols` columns.
size_t MatMulScratchBytes(size_t cols);

/// MatMul with the same bits. Matrices that are multiplied in f32 are widened and transposed panel by panel, which
/// makes products with a dozen columns or more two to three times as fast.
///
/// Memory    scratch: MatMulScratchBytes(w.cols) bytes aligned to 4, of this call alone; null: MatMul without it.
void MatMul(const WeightMatrix& w, size_t row_begin, size_t row_end, const void* pack, size_t n, float* out,
            size_t out_stride, bool accumulate, void* scratch);

/// Rows of a panel.
inline constexpr size_t kPanelRows = 64;

/// Panels of a matrix with `rows` rows; the last one is filled up with zeros.
constexpr size_t PanelCount(size_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

/// Widens panels [begin, end) of a matrix to f32 and transposes each: [panel, w.cols, kPanelRows].
///
/// Shapes    panels: where panel 0 is, or would be; rows: scratch memory of PanelRowFloats(w.cols).
/// Types     all of WeightMatrix. The layout is the same on every target.
/// Threads   disjoint ranges at once, each with scratch memory of its own.
void PackPanels(const WeightMatrix& w, size_t begin, size_t end, float* rows, float* panels);
constexpr size_t PanelRowFloats(size_t cols) { return 16 * cols; }

/// out[t][r] = (accumulate ? out[t][r] : 0) + (bias[r] + sum over c of w[r][c] * x[t][c]), for t < n and the rows of
/// one packed panel. Twice as fast as MatMul with scratch memory for a hundred rows of x.
///
/// Shapes    panel: [cols, kPanelRows], aligned to 64 bytes for speed; x: [n, cols]; bias: [rows] or null; out: row t
///           at t * out_stride elements; rows: those of the panel that are wanted, at most kPanelRows.
/// Accuracy  one chain of multiply-adds in ascending c: the bits of an element depend on its row and on x[t] alone, and
///           are equal on all targets that have FMA. They are not those of MatMul, which has 16 chains.
/// Threads   disjoint parts of `out` may be written at once. Does not allocate, print or throw.
void MatMulPanel(const float* panel, size_t rows, size_t cols, const float* x, size_t n, const float* bias, float* out,
                 size_t out_stride, bool accumulate);

}  // namespace prenorm
