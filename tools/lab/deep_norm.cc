// Experiment "deep-norm": gradients and the first step of training, with DeepNorm's factors and with plain post-LN.
#include <cmath>

#include "tools/lab/experiment.h"
#include "tools/lab/residual_network.h"

namespace prenorm::tools {
namespace {

constexpr size_t kDepths[] = {10, 32, 100, 320, 1000};
constexpr float kRate = 1e-3f;

struct Found {
  double first_over_last, whole, step;
};

// `step`: how far the output moves, against its own size, when the weights follow their gradient.
Found Measure(ResidualNetwork& network, const std::vector<float>& x, const std::vector<float>& dy) {
  const std::vector<float> gradient = network.Gradient(x, dy);
  const std::vector<float> before = network.Forward(x);
  for (size_t i = 0; i < gradient.size(); ++i) network.weights[i] -= kRate * gradient[i];
  const std::vector<float> after = network.Forward(x);
  double moved = 0, size = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    moved += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    size += std::pow(static_cast<double>(before[i]), 2);
  }
  return {network.BlockNorm(gradient, 0, 1) / network.BlockNorm(gradient, network.blocks - 1, 1),
          network.BlockNorm(gradient, 0, network.blocks), std::sqrt(moved / size)};
}

}  // namespace

LabTable MeasureDeepNorm(uint64_t seed) {
  LabTable table{"blocks",
                 {"DeepNorm, first/last", "DeepNorm, whole", "DeepNorm, step", "post-LN, first/last", "post-LN, whole",
                  "post-LN, step"},
                 {}};
  for (const size_t blocks : kDepths) {
    LabRow row{std::to_string(blocks), {}};
    const auto depth = static_cast<double>(blocks);
    for (const bool deep : {true, false}) {
      LabRandom random(seed);
      ResidualNetwork network{.tokens = 16, .dim = 32, .blocks = blocks, .weights = {}};
      if (deep) network.alpha = static_cast<float>(std::pow(2 * depth, 0.25));
      const std::vector<float> x = random.Normals(network.tokens * network.dim, 0.0, 1.0),
                               dy = random.Normals(network.tokens * network.dim, 0.0, 1.0);
      network.Initialize(random, deep ? std::pow(8 * depth, -0.25) : 1.0);
      const Found found = Measure(network, x, dy);
      row.values.insert(row.values.end(), {found.first_over_last, found.whole, found.step});
    }
    table.rows.push_back(row);
  }
  return table;
}

Verdict JudgeDeepNorm(const LabTable& table) {
  std::vector<double> depths;
  for (const size_t blocks : kDepths) depths.push_back(static_cast<double>(blocks));
  Verdict verdict;
  verdict.Between("DeepNorm, step of the output, exponent of depth",
                  FittedExponent(depths, table.Column("DeepNorm, step")), -0.1, 0.1);
  verdict.Between("DeepNorm, whole gradient, exponent of depth",
                  FittedExponent(depths, table.Column("DeepNorm, whole")), -0.1, 0.1);
  verdict.AllAtLeast("DeepNorm, gradient of the first block over the last's", table.Column("DeepNorm, first/last"),
                     0.5);
  verdict.AllAtMost("DeepNorm, gradient of the first block over the last's", table.Column("DeepNorm, first/last"), 2);
  verdict.AtMost("post-LN, gradient of the first block over the last's, 1000 blocks",
                 table.At("1000", "post-LN, first/last"), 0.01);
  verdict.AtLeast("step of post-LN over that of DeepNorm, 1000 blocks",
                  table.At("1000", "post-LN, step") / table.At("1000", "DeepNorm, step"), 5);
  return verdict;
}

}  // namespace prenorm::tools
