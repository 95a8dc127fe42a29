// Experiment "gain-folding": the product behind an RMSNorm, its gain folded into the weights before they are stored.
#include <cmath>
#include <span>

#include "prenorm/norm_fold.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"
#include "tools/lab/stored.h"

namespace prenorm::tools {
namespace {

constexpr size_t kOut = 64, kIn = 512;

struct Errors {
  double apart = 0, folded = 0;  // Relative, of the product with a normalized row.
};

Errors ErrorsOf(DType type, const std::vector<float>& weights, const std::vector<float>& gain,
                const std::vector<float>& x) {
  std::vector<float> product = weights;
  LinearMap map{.weight = product.data(), .out_channels = kOut, .in_channels = kIn};
  Errors errors;
  if (!FoldAffineIntoFollowing(gain.data(), nullptr, kIn, GainForm::kGain, std::span(&map, 1)).ok()) return {NAN, NAN};
  const std::vector<float> apart = Stored(type, weights, kIn), folded = Stored(type, product, kIn);
  double norm = 0;
  for (size_t o = 0; o < kOut; ++o) {
    double right = 0, by_apart = 0, by_folded = 0;
    for (size_t i = 0; i < kIn; ++i) {
      const double scaled = static_cast<double>(gain[i]) * x[i];
      right += weights[o * kIn + i] * scaled;
      by_apart += apart[o * kIn + i] * scaled;
      by_folded += static_cast<double>(folded[o * kIn + i]) * x[i];
    }
    errors.apart += (by_apart - right) * (by_apart - right);
    errors.folded += (by_folded - right) * (by_folded - right);
    norm += right * right;
  }
  return {std::sqrt(errors.apart / norm), std::sqrt(errors.folded / norm)};
}

}  // namespace

LabTable MeasureGainFolding(uint64_t seed) {
  LabRandom random(seed);
  const std::vector<float> weights = random.Normals(kOut * kIn, 0.0, 0.05), x = random.Normals(kIn, 0.0, 1.0);
  std::vector<float> even, uneven;
  for (size_t i = 0; i < kIn; ++i) {
    even.push_back(static_cast<float>(0.8 + 0.4 * random.Uniform()));
    uneven.push_back(i % 64 == 7 ? 20.0f : even.back());  // Some channels of real models stand out that far.
  }
  LabTable table{"type", {"apart, even", "folded, even", "apart, uneven", "folded, uneven"}, {}};
  for (const DType type : kStoredTypes) {
    const Errors a = ErrorsOf(type, weights, even, x), b = ErrorsOf(type, weights, uneven, x);
    table.rows.push_back({InfoOf(type).name, {a.apart, a.folded, b.apart, b.folded}});
  }
  return table;
}

Verdict JudgeGainFolding(const LabTable& table) {
  Verdict verdict;
  for (const char* gains : {"even", "uneven"}) {
    const std::vector<double> apart = table.Column(std::string("apart, ") + gains);
    const std::vector<double> folded = table.Column(std::string("folded, ") + gains);
    for (size_t i = 1; i < apart.size(); ++i) {  // The first, f32, rounds only where it folds.
      verdict.AtMost(table.rows[i].label + ", " + gains + " gains, error folded over apart", folded[i] / apart[i], 1.2);
    }
    verdict.AtMost(std::string("F32, ") + gains + " gains, error folded",
                   table.At("F32", std::string("folded, ") + gains), 1e-6);
  }
  return verdict;
}

}  // namespace prenorm::tools
