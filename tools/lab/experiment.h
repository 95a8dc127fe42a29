// Experiments of `prenorm lab`: a textbook claim, a measurement of it on this machine, a verdict
// computed from the data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm::tools {

struct LabRow {
  std::string label;
  std::vector<double> values;  ///< One a column; NaN where there is none.
};

/// What was measured.
struct LabTable {
  std::string label_head;  ///< What the labels are.
  std::vector<std::string> columns;
  std::vector<LabRow> rows;

  /// NaN where there is no such cell, which no comparison takes for good.
  double At(std::string_view label, std::string_view column) const;
  /// Null where there is no such cell.
  double* Cell(std::string_view label, std::string_view column);
  /// A column from top to bottom; empty where there is none.
  std::vector<double> Column(std::string_view column) const;
};

/// One thing that the claim needs, with the numbers.
struct Finding {
  bool holds = false;
  std::string text;
};

/// The claim holds where every finding does, and there is one.
class Verdict {
 public:
  void AtMost(const std::string& what, double value, double bound);
  void AtLeast(const std::string& what, double value, double bound);
  void Between(const std::string& what, double value, double low, double high);
  /// As AtMost and AtLeast of the largest and the smallest value; an empty list or a NaN does not hold.
  void AllAtMost(const std::string& what, const std::vector<double>& values, double bound);
  void AllAtLeast(const std::string& what, const std::vector<double>& values, double bound);

  bool holds() const;
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

struct LabModel;  // tools/lab/model_run.h

struct Experiment {
  const char* name;
  const char* claim;
  const char* source;
  const char* measured;  ///< What was done, and what the numbers are.
  Verdict (*judge)(const LabTable& table);
  /// One of the two. Figures are the same for the same seed, or the same model, but for times.
  LabTable (*measure)(uint64_t seed) = nullptr;
  Result<LabTable> (*measure_model)(const LabModel& model) = nullptr;
  bool times = false;  ///< Figures are times.
};

/// All of them, in the order of the lab.
std::span<const Experiment> Experiments();

/// Text for people: claim, source, table, findings, verdict. `model` names the one that was looked at, empty for none.
std::string LabText(const Experiment& experiment, const std::string& model, const LabTable& table,
                    const Verdict& verdict);
/// The same as a picture: every column over the rows, on a logarithmic scale.
std::string LabSvg(const Experiment& experiment, const std::string& model, const LabTable& table,
                   const Verdict& verdict);

/// Slope of log(y) over log(x) by least squares; NaN for fewer than two points or a value that is not positive.
double FittedExponent(const std::vector<double>& x, const std::vector<double>& y);

// The parts of the experiments, each in a file of its name.
LabTable MeasureInvariance(uint64_t seed);
Verdict JudgeInvariance(const LabTable& table);
LabTable MeasureAccumulation(uint64_t seed);
Verdict JudgeAccumulation(const LabTable& table);
LabTable MeasureGroups(uint64_t seed);
Verdict JudgeGroups(const LabTable& table);
LabTable MeasureBatchNorm(uint64_t seed);
Verdict JudgeBatchNorm(const LabTable& table);
LabTable MeasureRunningStatistics(uint64_t seed);
Verdict JudgeRunningStatistics(const LabTable& table);
LabTable MeasureBackward(uint64_t seed);
Verdict JudgeBackward(const LabTable& table);
LabTable MeasureGainFolding(uint64_t seed);
Verdict JudgeGainFolding(const LabTable& table);
LabTable MeasureDepthVariance(uint64_t seed);
Verdict JudgeDepthVariance(const LabTable& table);
LabTable MeasureInitialization(uint64_t seed);
Verdict JudgeInitialization(const LabTable& table);
LabTable MeasureGradientDepth(uint64_t seed);
Verdict JudgeGradientDepth(const LabTable& table);
LabTable MeasureDeepNorm(uint64_t seed);
Verdict JudgeDeepNorm(const LabTable& table);
LabTable MeasureBatchNormDropout(uint64_t seed);
Verdict JudgeBatchNormDropout(const LabTable& table);
LabTable MeasureBatchNormShards(uint64_t seed);
Verdict JudgeBatchNormShards(const LabTable& table);
LabTable MeasureBatchNormFolding(uint64_t seed);
Verdict JudgeBatchNormFolding(const LabTable& table);
Result<LabTable> MeasureEps(const LabModel& model);
Verdict JudgeEps(const LabTable& table);
Result<LabTable> MeasureFinalNorm(const LabModel& model);
Verdict JudgeFinalNorm(const LabTable& table);
Result<LabTable> MeasureStreamDepth(const LabModel& model);
Verdict JudgeStreamDepth(const LabTable& table);
Result<LabTable> MeasureCentring(const LabModel& model);
Verdict JudgeCentring(const LabTable& table);
Result<LabTable> MeasureNormTime(const LabModel& model);
Verdict JudgeNormTime(const LabTable& table);

}  // namespace prenorm::tools
