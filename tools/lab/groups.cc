// Experiment "groups": GroupNorm between LayerNorm and InstanceNorm.
#include <cmath>

#include "prenorm/norm.h"
#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kSamples = 4, kChannels = 32, kSpace = 64, kSample = kChannels * kSpace;
constexpr float kEps = 1e-5f;
constexpr const float* kNone = nullptr;

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// LayerNorm of rows, which knows nothing of maps and groups.
std::vector<float> RowsOf(const std::vector<float>& x, size_t cols) {
  std::vector<float> out(x.size());
  LayerNorm(x.data(), cols, kNone, kNone, out.data(), cols, x.size() / cols, cols, {.eps = kEps});
  return out;
}

}  // namespace

LabTable MeasureGroups(uint64_t seed) {
  LabRandom random(seed);
  std::vector<float> x;
  for (size_t plane = 0; plane < kSamples * kChannels;
       ++plane) {  // Each channel has a mean and a deviation of its own.
    const double mean = random.Normal(), deviation = 0.5 + random.Uniform();
    const std::vector<float> values = random.Normals(kSpace, mean, deviation);
    x.insert(x.end(), values.begin(), values.end());
  }
  const std::vector<float> layer = RowsOf(x, kSample), instance = RowsOf(x, kSpace);
  const ChannelShape shape{.samples = kSamples, .channels = kChannels, .space = kSpace};
  LabTable table{"groups", {"from LayerNorm", "from InstanceNorm"}, {}};
  std::vector<float> out(x.size());
  for (size_t groups = 1; groups <= kChannels; groups *= 2) {
    GroupNorm(x.data(), kSample, kNone, kNone, out.data(), kSample, shape, groups, {.eps = kEps});
    table.rows.push_back({std::to_string(groups), {Distance(out, layer), Distance(out, instance)}});
  }
  return table;
}

Verdict JudgeGroups(const LabTable& table) {
  const std::vector<double> layer = table.Column("from LayerNorm"), instance = table.Column("from InstanceNorm");
  std::vector<double> layer_steps, instance_steps;
  for (size_t i = 1; i < layer.size(); ++i) {
    layer_steps.push_back(layer[i] - layer[i - 1]);
    instance_steps.push_back(instance[i - 1] - instance[i]);
  }
  Verdict verdict;
  verdict.AtMost("1 group, from LayerNorm", table.At("1", "from LayerNorm"), 1e-6);
  verdict.AtMost("32 groups, from InstanceNorm", table.At("32", "from InstanceNorm"), 1e-6);
  verdict.AllAtLeast("step away from LayerNorm as groups double", layer_steps, 1e-3);
  verdict.AllAtLeast("step towards InstanceNorm as groups double", instance_steps, 1e-3);
  return verdict;
}

}  // namespace prenorm::tools
