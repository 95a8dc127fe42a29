// What the verdicts of experiments are made of.
#include "tools/lab/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace prenorm::tools {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
  std::vector<double> negative(values);
  for (double& value : negative) value = -value;
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
