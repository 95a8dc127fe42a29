// Experiment "running-statistics": how much of its start BatchNorm's running mean still holds after some batches.
#include <cmath>

#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kChannels = 16, kSamples = 64;
constexpr float kMean = 5.0f;
constexpr BatchNormTrainOptions kOptions = {.eps = 1e-5f, .momentum = 0.1f};

double ShareOfStart(const std::vector<float>& running) {
  double sum = 0;
  for (const float mean : running) sum += (kMean - mean) / kMean;
  return sum / static_cast<double>(running.size());
}

}  // namespace

LabTable MeasureRunningStatistics(uint64_t seed) {
  LabRandom random(seed);
  const ChannelShape shape{.samples = kSamples, .channels = kChannels};
  LabTable table{"batches", {"start left", "0.9^n", "start left, each twice", "0.9^2n"}, {}};
  std::vector<float> mean(kChannels), variance(kChannels, 1.0f), mean2 = mean, variance2 = variance;
  for (int batches = 1; batches <= 32; ++batches) {
    const std::vector<float> x = random.Normals(kSamples * kChannels, kMean, 1.0);
    std::vector<float> out(x.size());
    const auto update = [&](std::vector<float>& m, std::vector<float>& v) {
      BatchNormTrain(x.data(), kChannels, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr),
                     out.data(), kChannels, shape, m.data(), v.data(), kOptions);
    };
    update(mean, variance);
    update(mean2, variance2);
    update(mean2, variance2);  // As when activations are computed again and the statistics are not left out.
    if ((batches & (batches - 1)) != 0) continue;
    table.rows.push_back({std::to_string(batches),
                          {ShareOfStart(mean), std::pow(0.9, batches), ShareOfStart(mean2), std::pow(0.81, batches)}});
  }
  return table;
}

Verdict JudgeRunningStatistics(const LabTable& table) {
  const std::vector<double> once = table.Column("start left"), once_theory = table.Column("0.9^n");
  const std::vector<double> twice = table.Column("start left, each twice"), twice_theory = table.Column("0.9^2n");
  std::vector<double> once_off, twice_off;
  for (size_t i = 0; i < once.size(); ++i) {
    once_off.push_back(std::fabs(once[i] - once_theory[i]));
    twice_off.push_back(std::fabs(twice[i] - twice_theory[i]));
  }
  Verdict verdict;
  verdict.AllAtMost("start left, distance from 0.9^n", once_off, 0.02);
  verdict.AllAtMost("each batch twice, distance from 0.9^2n", twice_off, 0.02);
  verdict.AtLeast("start left after 8 batches", table.At("8", "start left"), 0.3);
  verdict.AtMost("start left after 32 batches", table.At("32", "start left"), 0.1);
  return verdict;
}

}  // namespace prenorm::tools
