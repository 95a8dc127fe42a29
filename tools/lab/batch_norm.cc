// Experiment "batch-norm": statistics of a batch against those of the population, for batches of 1 to 128.
#include <cmath>
#include <limits>

#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kChannels = 64, kBatches = 8;
constexpr float kMean = 3.0f, kDeviation = 2.0f;
constexpr BatchNormTrainOptions kOptions = {.eps = 1e-5f, .momentum = 1.0f};  // Running statistics are the batch's.
constexpr const float* kNone = nullptr;

double RootMeanSquare(double sum, size_t count) { return std::sqrt(sum / static_cast<double>(count)); }

}  // namespace

LabTable MeasureBatchNorm(uint64_t seed) {
  LabRandom random(seed);
  LabTable table{"samples", {"refused", "error of mean", "error of variance", "train - eval", "effect on others"}, {}};
  const std::vector<float> mean(kChannels, kMean), variance(kChannels, kDeviation * kDeviation);
  for (size_t samples = 1; samples <= 128; samples *= 2) {
    const ChannelShape shape{.samples = samples, .channels = kChannels};
    double refused = 0, mean_sum = 0, variance_sum = 0, eval_sum = 0, other_sum = 0;
    for (size_t batch = 0; batch < kBatches; ++batch) {
      std::vector<float> x = random.Normals(samples * kChannels, kMean, kDeviation);
      std::vector<float> train(x.size()), eval(x.size()), again(x.size()), m(kChannels), v(kChannels);
      const Status status = CheckedBatchNormTrain(x.data(), kChannels, kNone, kNone, train.data(), kChannels, shape,
                                                  m.data(), v.data(), kOptions);
      if (!status.ok()) {
        refused = 1;
        continue;
      }
      BatchNormEval(x.data(), kChannels, kNone, kNone, mean.data(), variance.data(), eval.data(), kChannels, shape,
                    kOptions.eps);
      for (size_t c = 0; c < kChannels; ++c) x[c] += 4 * kDeviation;  // The first sample becomes an outlier.
      BatchNormTrain(x.data(), kChannels, kNone, kNone, again.data(), kChannels, shape, static_cast<float*>(nullptr),
                     static_cast<float*>(nullptr), kOptions);
      for (size_t c = 0; c < kChannels; ++c) {
        mean_sum += std::pow((m[c] - kMean) / kDeviation, 2);
        variance_sum += std::pow(v[c] / (kDeviation * kDeviation) - 1, 2);
      }
      for (size_t i = 0; i < x.size(); ++i) eval_sum += std::pow(train[i] - eval[i], 2);
      for (size_t i = kChannels; i < x.size(); ++i) other_sum += std::pow(again[i] - train[i], 2);
    }
    LabRow row{std::to_string(samples), {refused}};
    if (refused > 0) {
      row.values.resize(table.columns.size(), std::numeric_limits<double>::quiet_NaN());
    } else {
      row.values.push_back(RootMeanSquare(mean_sum, kBatches * kChannels));
      row.values.push_back(RootMeanSquare(variance_sum, kBatches * kChannels));
      row.values.push_back(RootMeanSquare(eval_sum, kBatches * kChannels * samples));
      row.values.push_back(RootMeanSquare(other_sum, kBatches * kChannels * (samples - 1)));
    }
    table.rows.push_back(row);
  }
  return table;
}

Verdict JudgeBatchNorm(const LabTable& table) {
  std::vector<double> sizes, means, differences, effects;
  for (size_t samples = 2; samples <= 128; samples *= 2) {
    const std::string label = std::to_string(samples);
    sizes.push_back(static_cast<double>(samples));
    means.push_back(table.At(label, "error of mean"));
    differences.push_back(table.At(label, "train - eval"));
    effects.push_back(table.At(label, "effect on others"));
  }
  Verdict verdict;
  verdict.AtLeast("one sample, which has no variance, is refused", table.At("1", "refused"), 1);
  verdict.Between("error of the mean, exponent of the batch size", FittedExponent(sizes, means), -0.6, -0.4);
  verdict.AtMost("train - eval, exponent of the batch size", FittedExponent(sizes, differences), -0.3);
  verdict.AtLeast("train - eval, 4 samples", table.At("4", "train - eval"), 0.2);
  verdict.AllAtLeast("effect of an outlier on the other samples", effects, 1e-3);
  return verdict;
}

}  // namespace prenorm::tools
