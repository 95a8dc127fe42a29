// Experiment "batch-norm-dropout": BatchNorm behind dropout, which is there in training only.
#include <cmath>

#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kChannels = 32, kSamples = 64, kBatches = 32;
constexpr const char* kRates[] = {"0", "0.1", "0.3", "0.5", "0.7"};
constexpr float kEps = 1e-5f;
constexpr const float* kNone = nullptr;

double Variance(const std::vector<float>& x) {
  double mean = 0, squares = 0;
  for (const float value : x) mean += static_cast<double>(value) / static_cast<double>(x.size());
  for (const float value : x) squares += std::pow(static_cast<double>(value) - mean, 2);
  return squares / static_cast<double>(x.size());
}

}  // namespace

LabTable MeasureBatchNormDropout(uint64_t seed) {
  LabTable table{"dropped", {"running variance", "1 / kept", "deviation, train", "deviation, eval"}, {}};
  const ChannelShape shape{.samples = kSamples, .channels = kChannels};
  for (const char* rate : kRates) {
    LabRandom random(seed);
    const double kept = 1 - std::stod(rate);
    std::vector<float> mean(kChannels), variance(kChannels, 1.0f), out(kSamples * kChannels);
    for (size_t batch = 0; batch < kBatches; ++batch) {
      std::vector<float> x = random.Normals(out.size(), 0.0, 1.0);
      for (float& value : x) value = random.Uniform() < kept ? value / static_cast<float>(kept) : 0.0f;
      // Of a weight that makes the running statistics the plain mean over all batches.
      const BatchNormTrainOptions options{.eps = kEps, .momentum = 1.0f / static_cast<float>(batch + 1)};
      BatchNormTrain(x.data(), kChannels, kNone, kNone, out.data(), kChannels, shape, mean.data(), variance.data(),
                     options);
    }
    const double train = std::sqrt(Variance(out));
    const std::vector<float> x = random.Normals(out.size(), 0.0, 1.0);
    BatchNormEval(x.data(), kChannels, kNone, kNone, mean.data(), variance.data(), out.data(), kChannels, shape, kEps);
    double running = 0;
    for (const float value : variance) running += static_cast<double>(value) / kChannels;
    table.rows.push_back({rate, {running, 1 / kept, train, std::sqrt(Variance(out))}});
  }
  return table;
}

Verdict JudgeBatchNormDropout(const LabTable& table) {
  const std::vector<double> running = table.Column("running variance"), expected = table.Column("1 / kept");
  std::vector<double> ratios;
  for (size_t i = 0; i < running.size(); ++i) ratios.push_back(running[i] / expected[i]);
  Verdict verdict;
  verdict.AllAtLeast("running variance over 1 / kept, smallest", ratios, 0.95);
  verdict.AllAtMost("running variance over 1 / kept, largest", ratios, 1.05);
  verdict.Between("deviation in eval, nothing dropped", table.At("0", "deviation, eval"), 0.95, 1.05);
  verdict.AllAtLeast("deviation in training, smallest", table.Column("deviation, train"), 0.99);
  verdict.AtMost("deviation in eval, half dropped in training", table.At("0.5", "deviation, eval"), 0.75);
  return verdict;
}

}  // namespace prenorm::tools
