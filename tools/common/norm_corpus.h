// Rows that have broken normalization code: extreme magnitudes, outliers, monotone ones, means far from zero.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prenorm::tools {

struct CorpusRow {
  std::string name;
  std::vector<float> x;
};

/// Lengths around powers of two, lengths of real models, and one above 2^16; those up to `cols_max`.
std::vector<size_t> CorpusLengths(size_t cols_max);

/// The rows of one length; the same ones every time.
std::vector<CorpusRow> CorpusRows(size_t cols);

/// About normally distributed around `mean`, the same for the same `seed`.
std::vector<float> SpreadRow(size_t cols, uint64_t seed, float mean, float stddev);

}  // namespace prenorm::tools
