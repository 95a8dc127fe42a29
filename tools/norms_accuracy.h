// How exactly the normalization kernels compute, against long double.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "prenorm/status.h"

namespace prenorm::tools {

/// Errors in units of the last place of the output's type fall into these bins: up to 0.5, 1, 1.5, 2, 3, and more.
constexpr std::array<double, 5> kUlpBins = {0.5, 1.0, 1.5, 2.0, 3.0};

/// One operation with one pair of types on one SIMD target.
struct AccuracyRow {
  std::string op;    ///< "rms_norm", "layer_norm", ...
  std::string in;    ///< "f32" or "bf16".
  std::string gain;  ///< "none", "f32" or "bf16".
  std::string out;
  std::string target;  ///< "AVX2", ...
  std::string mode;    ///< Variant of the operation, e.g. "eps outside".
  size_t cols_max = 0;
  uint64_t values = 0;  ///< Outputs compared.
  double max_ulp = 0.0;
  double p999_ulp = 0.0;
  double correctly_rounded = 0.0;                       ///< Share of outputs that are the nearest of their type.
  std::array<double, kUlpBins.size() + 1> histogram{};  ///< Shares.
  std::string promise;                                  ///< In words.
  double promise_used = 0.0;                            ///< Largest error as a share of what is promised.
  bool holds = false;
};

/// Runs RMSNorm (every option), LayerNorm, both with a residual sum, GroupNorm, InstanceNorm, BatchNorm, softmax and
/// log-sum-exp under every target that this CPU runs, on rows that have broken norms: extreme magnitudes, outliers,
/// means far from zero, lengths up to `cols_max`. Deterministic. `target`: only this one; empty: all of them. The best
/// target is in force afterwards.
std::vector<AccuracyRow> MeasureNormAccuracy(size_t cols_max, const std::string& target);

/// Writes the same rows, gains and biases for other programs: f32 values to `path`, and to `path`.json which of them
/// are what: {rows: [{offset, cols, kind ("norm" or "softmax"), name, eps, gain, bias}]}, offsets counting elements.
Status ExportNormRows(size_t cols_max, const std::string& path);

}  // namespace prenorm::tools
