// Rows that have broken normalization code: extreme magnitudes, outliers, monotone ones, means far from zero.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prenorm::tools {

struct CorpusRow {
  std::string name;
  std::vector<float> x;
  std::vector<float> eps;  ///< To be tried with it: all of 0, 1e-12, 1e-6, 1e-5 for short rows, one for long ones.
};

/// Lengths around powers of two, lengths of real models, and one above 2^16; those up to `cols_max`.
std::vector<size_t> CorpusLengths(size_t cols_max);

/// The rows of one length; the same ones every time.
std::vector<CorpusRow> CorpusRows(size_t cols);

/// Rows for softmax of one length, each below the range where exp overflows f64.
std::vector<CorpusRow> SoftmaxRows(size_t cols);

/// Gain and bias of a row's columns.
std::vector<float> CorpusGain(size_t cols);
std::vector<float> CorpusBias(size_t cols);

/// About normally distributed around `mean`, the same for the same `seed`.
std::vector<float> SpreadRow(size_t cols, uint64_t seed, float mean, float stddev);

}  // namespace prenorm::tools
