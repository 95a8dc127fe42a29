// Experiment "invariance": what scaling and shifting the input, or scaling the weights before it, does to a norm.
#include <algorithm>
#include <cmath>

#include "prenorm/norm.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kRows = 16, kCols = 1024, kInputs = 32;
constexpr double kSame = 1e-4, kDifferent = 1e-2;

using Rows = std::vector<float>;

Rows Normalized(const Rows& x, bool layer_norm, float eps) {
  Rows out(x.size());
  if (layer_norm) {
    LayerNorm(x.data(), kCols, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), out.data(),
              kCols, kRows, kCols, {.eps = eps});
  } else {
    RmsNorm(x.data(), kCols, nullptr, out.data(), kCols, kRows, kCols, {.eps = eps});
  }
  return out;
}

double LargestChange(const Rows& a, const Rows& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

Rows Transformed(const Rows& x, float scale, float shift) {
  Rows out;
  for (const float value : x) out.push_back(value * scale + shift);
  return out;
}

// x[r] = weights * inputs[r], for weights of [kCols, kInputs].
Rows Product(const Rows& weights, const Rows& inputs) {
  Rows out(kRows * kCols);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kCols; ++c) {
      for (size_t i = 0; i < kInputs; ++i) out[r * kCols + c] += weights[c * kInputs + i] * inputs[r * kInputs + i];
    }
  }
  return out;
}

LabRow Compared(const char* label, const Rows& x, const Rows& changed) {
  LabRow row{label, {}};
  for (const float eps : {0.0f, 1e-5f}) {
    for (const bool layer_norm : {true, false}) {
      row.values.push_back(LargestChange(Normalized(x, layer_norm, eps), Normalized(changed, layer_norm, eps)));
    }
  }
  return row;
}

}  // namespace

LabTable MeasureInvariance(uint64_t seed) {
  LabRandom random(seed);
  const Rows x = random.Normals(kRows * kCols, 0.5, 1.0);
  const Rows weights = random.Normals(kCols * kInputs, 0.0, 0.2), inputs = random.Normals(kRows * kInputs, 0.0, 1.0);
  LabTable table{"change", {"LayerNorm, eps 0", "RMSNorm, eps 0", "LayerNorm, eps 1e-5", "RMSNorm, eps 1e-5"}, {}};
  table.rows = {Compared("x * 1000", x, Transformed(x, 1000, 0)),
                Compared("x * 0.1", x, Transformed(x, 0.1f, 0)),
                Compared("x * 0.001", x, Transformed(x, 0.001f, 0)),
                Compared("x + 3", x, Transformed(x, 1, 3)),
                Compared("x * 7 - 5", x, Transformed(x, 7, -5)),
                Compared("weights * 7", Product(weights, inputs), Product(Transformed(weights, 7, 0), inputs))};
  return table;
}

Verdict JudgeInvariance(const LabTable& table) {
  const std::vector<const char*> scales = {"x * 1000", "x * 0.1", "x * 0.001", "weights * 7"};
  const std::vector<const char*> shifts = {"x + 3", "x * 7 - 5"};
  std::vector<double> layer, rms, rms_shifted;
  for (const char* label : scales) {
    layer.push_back(table.At(label, "LayerNorm, eps 0"));
    rms.push_back(table.At(label, "RMSNorm, eps 0"));
  }
  for (const char* label : shifts) {
    layer.push_back(table.At(label, "LayerNorm, eps 0"));
    rms_shifted.push_back(table.At(label, "RMSNorm, eps 0"));
  }
  Verdict verdict;
  verdict.AllAtMost("LayerNorm scaled or shifted, eps 0", layer, kSame);
  verdict.AllAtMost("RMSNorm scaled, eps 0", rms, kSame);
  verdict.AllAtLeast("RMSNorm shifted, eps 0", rms_shifted, kDifferent);
  verdict.AtLeast("LayerNorm of x * 0.001, eps 1e-5", table.At("x * 0.001", "LayerNorm, eps 1e-5"), kDifferent);
  verdict.AtLeast("RMSNorm of x * 0.001, eps 1e-5", table.At("x * 0.001", "RMSNorm, eps 1e-5"), kDifferent);
  return verdict;
}

}  // namespace prenorm::tools
