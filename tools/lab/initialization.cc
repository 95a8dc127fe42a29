// Experiment "initialization": activations over the depth of a perceptron, by its initial weights, with norms and not.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "prenorm/norm.h"
#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kSamples = 16, kWidth = 64, kLayers = 32;
constexpr float kEps = 1e-5f;
constexpr const float* kNone = nullptr;

enum class Norm { kNothing, kLayerNorm, kBatchNorm };

struct Start {
  const char* name;
  double variance;  // Of a weight, times the width.
  Norm norm;        // Between product and ReLU.
};

// The default is torch's: uniform up to 1/sqrt(width), which has a third of Xavier's variance.
const Start kStarts[] = {
    {"default", 1.0 / 3, Norm::kNothing},       {"Xavier", 1, Norm::kNothing},       {"He", 2, Norm::kNothing},
    {"default, LN", 1.0 / 3, Norm::kLayerNorm}, {"Xavier, LN", 1, Norm::kLayerNorm}, {"He, LN", 2, Norm::kLayerNorm},
    {"default, BN", 1.0 / 3, Norm::kBatchNorm}, {"Xavier, BN", 1, Norm::kBatchNorm}, {"He, BN", 2, Norm::kBatchNorm},
};

double MeanSquare(const std::vector<float>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum / static_cast<double>(x.size());
}

// x = relu(norm(weights * x)), in place.
void Layer(const std::vector<float>& weights, Norm norm, std::vector<float>& x) {
  std::vector<float> out(x.size());
  for (size_t s = 0; s < kSamples; ++s) {
    for (size_t o = 0; o < kWidth; ++o) {
      const float* row = weights.data() + o * kWidth;
      out[s * kWidth + o] = std::inner_product(row, row + kWidth, x.data() + s * kWidth, 0.0f);
    }
  }
  if (norm == Norm::kLayerNorm) {
    LayerNorm(out.data(), kWidth, kNone, kNone, out.data(), kWidth, kSamples, kWidth, {.eps = kEps});
  } else if (norm == Norm::kBatchNorm) {
    BatchNormTrain(out.data(), kWidth, kNone, kNone, out.data(), kWidth, {.samples = kSamples, .channels = kWidth},
                   static_cast<float*>(nullptr), static_cast<float*>(nullptr), {.eps = kEps});
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::max(out[i], 0.0f);
}

}  // namespace

LabTable MeasureInitialization(uint64_t seed) {
  LabTable table{"layers", {}, {}};
  for (size_t layers = 1; layers <= kLayers; layers *= 2) table.rows.push_back({std::to_string(layers), {}});
  for (const Start& start : kStarts) {
    LabRandom random(seed);  // The same weights, but for their scale.
    table.columns.push_back(start.name);
    std::vector<float> x = random.Normals(kSamples * kWidth, 0.0, 1.0);
    const double limit = std::sqrt(3 * start.variance / static_cast<double>(kWidth));
    for (size_t layer = 1, row = 0; layer <= kLayers; ++layer) {
      std::vector<float> weights(kWidth * kWidth);
      for (float& weight : weights) weight = static_cast<float>(limit * (2 * random.Uniform() - 1));
      Layer(weights, start.norm, x);
      if ((layer & (layer - 1)) == 0) table.rows[row++].values.push_back(MeanSquare(x));
    }
  }
  return table;
}

Verdict JudgeInitialization(const LabTable& table) {
  const auto factor = [&](const char* column) {
    return std::pow(table.At("32", column) / table.At("1", column), 1.0 / (kLayers - 1));
  };
  Verdict verdict;
  verdict.Between("default, factor a layer", factor("default"), 0.12, 0.22);
  verdict.Between("Xavier, factor a layer", factor("Xavier"), 0.4, 0.6);
  verdict.Between("He, factor a layer", factor("He"), 0.8, 1.2);
  for (const Start& start : kStarts) {
    if (start.norm == Norm::kNothing) continue;
    verdict.AllAtLeast(std::string(start.name) + ", smallest", table.Column(start.name), 0.3);
    verdict.AllAtMost(std::string(start.name) + ", largest", table.Column(start.name), 0.7);
  }
  return verdict;
}

}  // namespace prenorm::tools
