// Experiment "gradient-depth": the gradient at initialization by depth, with norms behind branches
// and in front of them.
#include <cmath>

#include "tools/lab/experiment.h"
#include "tools/lab/residual_network.h"

namespace prenorm::tools {
namespace {

constexpr size_t kNetworks = 8, kDeepest = 64;

std::vector<double> Growth(const LabTable& table, const char* column) {
  std::vector<double> values = table.Column(column);
  if (!values.empty()) values.erase(values.begin());  // The shallowest net has not settled.
  return values;
}

}  // namespace

LabTable MeasureGradientDepth(uint64_t seed) {
  LabTable table{
      "blocks",
      {"post-LN, whole", "post-LN, first", "post-LN, last", "pre-LN, whole", "pre-LN, first", "pre-LN, last"},
      {}};
  for (size_t blocks = 2; blocks <= kDeepest; blocks *= 2) {
    LabRow row{std::to_string(blocks), std::vector<double>(table.columns.size(), 1.0)};
    for (size_t i = 0; i < kNetworks; ++i) {
      LabRandom random(seed * kNetworks + i);
      ResidualNetwork network{.tokens = 16, .dim = 64, .blocks = blocks, .weights = {}};
      const std::vector<float> x = random.Normals(network.tokens * network.dim, 0.0, 1.0),
                               dy = random.Normals(network.tokens * network.dim, 0.0, 1.0);
      network.Initialize(random, 1.0);
      double* value = row.values.data();
      for (const auto placement : {ResidualNetwork::kPostNorm, ResidualNetwork::kPreNorm}) {
        network.placement = placement;
        const std::vector<float> gradient = network.Gradient(x, dy);
        *value++ *= network.BlockNorm(gradient, 0, blocks);
        *value++ *= network.BlockNorm(gradient, 0, 1);
        *value++ *= network.BlockNorm(gradient, blocks - 1, 1);
      }
    }
    for (double& value : row.values) value = std::pow(value, 1.0 / kNetworks);
    table.rows.push_back(row);
  }
  return table;
}

Verdict JudgeGradientDepth(const LabTable& table) {
  std::vector<double> depths;
  for (size_t blocks = 4; blocks <= kDeepest; blocks *= 2) depths.push_back(static_cast<double>(blocks));
  const auto exponent = [&](const char* column) { return FittedExponent(depths, Growth(table, column)); };
  Verdict verdict;
  verdict.Between("post-LN, whole gradient, exponent of depth", exponent("post-LN, whole"), 0.35, 0.75);
  verdict.Between("pre-LN, whole gradient, exponent of depth", exponent("pre-LN, whole"), -0.1, 0.33);
  verdict.Between("post-LN, last block, exponent of depth", exponent("post-LN, last"), -0.1, 0.15);
  verdict.Between("pre-LN, last block, exponent of depth", exponent("pre-LN, last"), -0.6, -0.4);
  verdict.Between("pre-LN, first block, exponent of depth", exponent("pre-LN, first"), -0.25, 0.25);
  verdict.AtLeast("post-LN, last block over first, 64 blocks",
                  table.At("64", "post-LN, last") / table.At("64", "post-LN, first"), 1.5);
  return verdict;
}

}  // namespace prenorm::tools
