// The table of all experiments, and what their verdicts are made of.
#include "tools/lab/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace prenorm::tools {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Experiment kExperiments[] = {
    {"invariance",
     "LayerNorm ignores scale and shift of its input, RMSNorm only the scale; a fixed eps ends that for small inputs.",
     "Ba, Kiros and Hinton 2016, section 5.1; Zhang and Sennrich 2019, table 1",
     "Largest change of an output over 16 rows of 1024 when the input, or the weights before it, change.",
     MeasureInvariance, JudgeInvariance},
    {"accumulation", "Sums of squares in bf16 spoil a norm as rows grow long; wider accumulators do not.",
     "Common practice of mixed precision: Micikevicius et al. 2018, section 3.3",
     "Largest relative error of 1 / RMS over 8 rows of bf16 values, against f64.", MeasureAccumulation,
     JudgeAccumulation},
    {"groups", "GroupNorm is LayerNorm with one group and InstanceNorm with as many groups as channels.",
     "Wu and He 2018, section 3.1",
     "Root mean square distance of GroupNorm of a map [4, 32, 64] from LayerNorm of whole samples and of single "
     "channels.",
     MeasureGroups, JudgeGroups},
    {"batch-norm",
     "BatchNorm's statistics are noise of about 1/sqrt(batch): training and eval differ, and a sample changes the "
     "others.",
     "Ioffe and Szegedy 2015, section 3.1; Ioffe 2017, section 3",
     "Root mean square over 8 batches of 64 channels; errors in units of the population's deviation and variance; one "
     "sample moved by 4 deviations.",
     MeasureBatchNorm, JudgeBatchNorm},
    {"running-statistics",
     "Running statistics hold (1 - momentum)^n of their start after n batches, its square where each batch counts "
     "twice.",
     "Ioffe and Szegedy 2015, section 3.1, with torch's momentum of 0.1",
     "Share of the start value 0 in the running mean of 16 channels whose mean is 5, batches of 64.",
     MeasureRunningStatistics, JudgeRunningStatistics},
    {"backward", "Both correction terms of LayerNorm's gradient matter: without either the gradient is wrong.",
     "Xu et al. 2019, section 3",
     "Relative error of dx, against f64, for the loss |y - target|^2 / 2 with targets of mean 0.5.", MeasureBackward,
     JudgeBackward},
    {"gain-folding", "A norm's gain folds into the next matrix at no cost in accuracy, whatever type stores it.",
     "Common practice of inference engines",
     "Relative error of a product [64, 512], gains of 0.8 to 1.2 (even), every 64th of them 20 (uneven); 1.2 times the "
     "error counts as no cost.",
     MeasureGainFolding, JudgeGainFolding},
    {"depth-variance",
     "At initialization a plain residual stream grows exponentially with depth, behind LayerNorm or BatchNorm "
     "linearly; "
     "Fixup, SkipInit and LayerScale bound it.",
     "De and Smith 2020, section 2; Zhang, Dauphin and Ma 2019 (Fixup); Touvron et al. 2021 (LayerScale)",
     "Mean square of the stream over that of the input; up to 64 blocks of two matrices [64, 64] and a ReLU, 16 "
     "tokens; "
     "Fixup's scale L^(-1/2) with the last matrix not zero, SkipInit's alpha 0, LayerScale's lambda 1e-5.",
     MeasureDepthVariance, JudgeDepthVariance},
    {"initialization",
     "Activations of a ReLU perceptron die out with depth under default and Xavier weights and last under He's; with "
     "LayerNorm or BatchNorm they last under any.",
     "He et al. 2015, section 2.2; Ioffe and Szegedy 2015, section 3.3",
     "Mean square of the activations behind up to 32 layers of width 64, 16 samples.", MeasureInitialization,
     JudgeInitialization},
};

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double Largest(const std::vector<double>& values) {
  double largest = values.empty() ? kNan : values[0];
  for (const double value : values)
    largest = std::isnan(value) || std::isnan(largest) ? kNan : std::max(largest, value);
  return largest;
}

}  // namespace

std::span<const Experiment> Experiments() { return kExperiments; }

double* LabTable::Cell(std::string_view label, std::string_view column) {
  const auto at = std::find(columns.begin(), columns.end(), column);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const LabRow& other) { return other.label == label; });
  const auto index = static_cast<size_t>(at - columns.begin());
  if (row == rows.end() || index >= row->values.size()) return nullptr;
  return &row->values[index];
}

double LabTable::At(std::string_view label, std::string_view column) const {
  const double* cell = const_cast<LabTable*>(this)->Cell(label, column);
  return cell == nullptr ? kNan : *cell;
}

std::vector<double> LabTable::Column(std::string_view column) const {
  std::vector<double> values;
  for (const LabRow& row : rows) values.push_back(At(row.label, column));
  return values;
}

void Verdict::AtMost(const std::string& what, double value, double bound) {
  const bool holds = value <= bound;
  findings_.push_back({holds, what + ": " + Number(value) + (holds ? " <= " : ", not <= ") + Number(bound)});
}

void Verdict::AtLeast(const std::string& what, double value, double bound) {
  const bool holds = value >= bound;
  findings_.push_back({holds, what + ": " + Number(value) + (holds ? " >= " : ", not >= ") + Number(bound)});
}

void Verdict::Between(const std::string& what, double value, double low, double high) {
  const bool holds = value >= low && value <= high;
  findings_.push_back(
      {holds, what + ": " + Number(value) + (holds ? " in " : ", not in ") + Number(low) + " to " + Number(high)});
}

void Verdict::AllAtMost(const std::string& what, const std::vector<double>& values, double bound) {
  AtMost(what, Largest(values), bound);
}

void Verdict::AllAtLeast(const std::string& what, const std::vector<double>& values, double bound) {
  std::vector<double> negative;
  for (const double value : values) negative.push_back(-value);
  AtLeast(what, -Largest(negative), bound);
}

bool Verdict::holds() const {
  return !findings_.empty() &&
         std::all_of(findings_.begin(), findings_.end(), [](const Finding& finding) { return finding.holds; });
}

double FittedExponent(const std::vector<double>& x, const std::vector<double>& y) {
  const size_t count = std::min(x.size(), y.size());
  if (count < 2) return kNan;
  double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) return kNan;
    mean_x += std::log(x[i]) / static_cast<double>(count);
    mean_y += std::log(y[i]) / static_cast<double>(count);
  }
  for (size_t i = 0; i < count; ++i) {
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    xx += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  return xy / xx;
}

}  // namespace prenorm::tools
