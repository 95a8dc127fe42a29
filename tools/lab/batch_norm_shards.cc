// Experiment "batch-norm-shards": a batch shared out among workers, with statistics of their own and with merged ones.
#include <algorithm>
#include <cmath>

#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kChannels = 32, kSamples = 128, kMostWorkers = 64;
constexpr BatchNormTrainOptions kOptions = {.eps = 1e-5f, .momentum = 1.0f};  // Running statistics are the batch's.
constexpr const float* kNone = nullptr;

using Rows = std::vector<float>;  // [kSamples, kChannels]

double Distance(const Rows& a, const Rows& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// Rows normalized by each worker for itself, and with the statistics of all merged.
struct Sharded {
  Rows apart, merged;
};

Sharded Normalize(const Rows& x, size_t workers) {
  Sharded out{Rows(x.size()), Rows(x.size())};
  const size_t samples = kSamples / workers;
  // Of the samples so far: squares are those of distances from the mean.
  std::vector<double> mean(kChannels), squares(kChannels);
  for (size_t worker = 0; worker < workers; ++worker) {
    const size_t at = worker * samples * kChannels;
    std::vector<float> m(kChannels), v(kChannels);
    BatchNormTrain(&x[at], kChannels, kNone, kNone, &out.apart[at], kChannels,
                   {.samples = samples, .channels = kChannels}, m.data(), v.data(), kOptions);
    const auto before = static_cast<double>(worker * samples), more = static_cast<double>(samples);
    for (size_t c = 0; c < kChannels; ++c) {
      const double step = static_cast<double>(m[c]) - mean[c];
      mean[c] += step * more / (before + more);
      squares[c] += static_cast<double>(v[c]) * (more - 1) + step * step * before * more / (before + more);
    }
  }
  std::vector<float> m(mean.begin(), mean.end()), v;
  for (const double sum : squares) v.push_back(static_cast<float>(sum / kSamples));
  BatchNormEval(x.data(), kChannels, kNone, kNone, m.data(), v.data(), out.merged.data(), kChannels,
                {.samples = kSamples, .channels = kChannels}, kOptions.eps);
  return out;
}

}  // namespace

LabTable MeasureBatchNormShards(uint64_t seed) {
  LabRandom random(seed);
  const Rows x = random.Normals(kSamples * kChannels, 3.0, 2.0);
  Rows drifting = x;  // The mean moves from sample to sample, as in data that nobody shuffled.
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t sample = i / kChannels;
    drifting[i] += 0.05f * static_cast<float>(sample);
  }
  LabTable table{"workers", {"apart", "merged", "apart, unshuffled", "merged, unshuffled"}, {}};
  const Sharded whole = Normalize(x, 1), drifting_whole = Normalize(drifting, 1);
  for (size_t workers = 2; workers <= kMostWorkers; workers *= 2) {
    const Sharded even = Normalize(x, workers), uneven = Normalize(drifting, workers);
    table.rows.push_back(
        {std::to_string(workers),
         {Distance(even.apart, whole.apart), Distance(even.merged, whole.apart),
          Distance(uneven.apart, drifting_whole.apart), Distance(uneven.merged, drifting_whole.apart)}});
  }
  return table;
}

Verdict JudgeBatchNormShards(const LabTable& table) {
  std::vector<double> workers;
  for (const LabRow& row : table.rows) workers.push_back(std::stod(row.label));
  Verdict verdict;
  verdict.AllAtMost("merged statistics, from the whole batch's", table.Column("merged"), 1e-5);
  verdict.AllAtMost("merged statistics, unshuffled", table.Column("merged, unshuffled"), 1e-5);
  verdict.Between("statistics apart, exponent of the workers", FittedExponent(workers, table.Column("apart")), 0.4,
                  0.9);
  verdict.AtLeast("statistics apart, 2 samples a worker", table.At("64", "apart"), 0.3);
  verdict.AllAtLeast("statistics apart, unshuffled", table.Column("apart, unshuffled"), 0.3);
  return verdict;
}

}  // namespace prenorm::tools
