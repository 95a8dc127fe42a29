// Experiment "batch-norm-folding": a frozen BatchNorm in the weights before and behind it, by the
// type that stores them.
#include <cmath>
#include <span>
#include <utility>

#include "prenorm/norm_fold.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"
#include "tools/lab/stored.h"

namespace prenorm::tools {
namespace {

constexpr size_t kChannels = 512, kOther = 256;  // Of the norm, and on the other side of a matrix.
constexpr size_t kVectors = 8;
constexpr float kEps = 1e-5f;

using Row = std::vector<float>;
using Vectors = std::vector<std::vector<double>>;

// y = weights * x + bias in f64.
Vectors Product(const Row& weights, const Row& bias, const Vectors& inputs) {
  Vectors out;
  for (const std::vector<double>& x : inputs) {
    std::vector<double> y(bias.begin(), bias.end());
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(weights[o * x.size() + i]) * x[i];
    }
    out.push_back(std::move(y));
  }
  return out;
}

Vectors Normalized(const FrozenBatchNorm& norm, Vectors inputs) {
  for (std::vector<double>& x : inputs) {
    for (size_t c = 0; c < x.size(); ++c) {
      const double factor = static_cast<double>(norm.gain[c]) /
                            std::sqrt(static_cast<double>(norm.variance[c]) + static_cast<double>(norm.eps));
      x[c] = factor * (x[c] - static_cast<double>(norm.mean[c])) + static_cast<double>(norm.bias[c]);
    }
  }
  return inputs;
}

// Root mean square over the outputs, each against its own size: no channel counts for more than another.
double RelativeError(const Vectors& found, const Vectors& right) {
  double total = 0;
  for (size_t o = 0; o < right[0].size(); ++o) {
    double error = 0, size = 0;
    for (size_t v = 0; v < right.size(); ++v) {
      error += std::pow(found[v][o] - right[v][o], 2);
      size += std::pow(right[v][o], 2);
    }
    total += error / size;
  }
  return std::sqrt(total / static_cast<double>(right[0].size()));
}

}  // namespace

LabTable MeasureBatchNormFolding(uint64_t seed) {
  LabRandom random(seed);
  Row gain, variance;
  // Deviations of the channels are some factors apart, as in trained networks.
  for (size_t c = 0; c < kChannels; ++c) {
    gain.push_back(static_cast<float>(0.5 + random.Uniform()));
    variance.push_back(static_cast<float>(std::exp(2 * random.Normal())));
  }
  const Row bias = random.Normals(kChannels, 0.0, 0.5), mean = random.Normals(kChannels, 0.0, 1.0);
  const FrozenBatchNorm norm{gain.data(), bias.data(), mean.data(), variance.data(), kChannels, kEps};
  const Row before = random.Normals(kChannels * kOther, 0.0, 0.1),
            behind = random.Normals(kOther * kChannels, 0.0, 0.1);
  Vectors narrow(kVectors), wide(kVectors);
  for (size_t v = 0; v < kVectors; ++v) {
    for (size_t i = 0; i < kOther; ++i) narrow[v].push_back(random.Normal());
    for (size_t c = 0; c < kChannels; ++c) {
      wide[v].push_back(static_cast<double>(mean[c]) + std::sqrt(static_cast<double>(variance[c])) * random.Normal());
    }
  }

  Row folded_before = before, bias_before(kChannels), folded_behind = behind, bias_behind(kOther);
  LinearMap map_before{folded_before.data(), bias_before.data(), kChannels, kOther};
  LinearMap map_behind{folded_behind.data(), bias_behind.data(), kOther, kChannels};
  LabTable table{"type", {"before, apart", "before, folded", "behind, apart", "behind, folded"}, {}};
  if (!FoldIntoPreceding(norm, &map_before).ok() || !FoldIntoFollowing(norm, std::span(&map_behind, 1)).ok()) {
    return table;
  }
  // Shifts stay in f32 whatever stores the weights, so both sides have them; errors are those of the products.
  const Vectors right_before = Normalized(norm, Product(before, Row(kChannels), narrow));
  const Vectors right_behind = Product(behind, Row(kOther), Normalized(norm, wide));
  for (const DType type : kStoredTypes) {
    const Vectors stored_before = Product(Stored(type, before, kOther), Row(kChannels), narrow);
    table.rows.push_back(
        {InfoOf(type).name,
         {RelativeError(Normalized(norm, stored_before), right_before),
          RelativeError(Product(Stored(type, folded_before, kOther), bias_before, narrow), right_before),
          RelativeError(Product(Stored(type, behind, kChannels), Row(kOther), Normalized(norm, wide)), right_behind),
          RelativeError(Product(Stored(type, folded_behind, kChannels), bias_behind, wide), right_behind)}});
  }
  return table;
}

Verdict JudgeBatchNormFolding(const LabTable& table) {
  Verdict verdict;
  for (const char* side : {"before", "behind"}) {
    const std::vector<double> apart = table.Column(std::string(side) + ", apart");
    const std::vector<double> folded = table.Column(std::string(side) + ", folded");
    for (size_t i = 1; i < apart.size(); ++i) {
      verdict.AtMost(table.rows[i].label + ", matrix " + side + ", error folded over apart", folded[i] / apart[i], 1.2);
    }
    verdict.AtMost(std::string("F32, matrix ") + side + ", error folded",
                   table.At("F32", std::string(side) + ", folded"), 1e-6);
  }
  return verdict;
}

}  // namespace prenorm::tools
