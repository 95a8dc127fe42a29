// Experiment "depth-variance": the residual stream of a deep network at initialization, by how its blocks are built.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "prenorm/norm.h"
#include "prenorm/norm_channels.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kTokens = 16, kDim = 64, kBlocks = 64;
constexpr float kEps = 1e-5f;
constexpr const float* kNone = nullptr;

using Map = std::vector<float>;  // [kTokens, kDim] or [kDim, kDim]

Map Product(const Map& x, const Map& weights) {
  Map out(kTokens * kDim);
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t o = 0; o < kDim; ++o) {
      const float* row = weights.data() + o * kDim;
      out[t * kDim + o] = std::inner_product(row, row + kDim, x.data() + t * kDim, 0.0f);
    }
  }
  return out;
}

// The last matrix times relu of ... relu of the first one times x.
Map Branch(const Map& x, const std::vector<Map>& matrices) {
  Map out = Product(x, matrices[0]);
  for (size_t i = 1; i < matrices.size(); ++i) {
    for (float& value : out) value = std::max(value, 0.0f);
    out = Product(out, matrices[i]);
  }
  return out;
}

double MeanSquare(const Map& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum / static_cast<double>(x.size());
}

struct Form {
  const char* name;
  enum { kNothing, kLayerNorm, kBatchNorm } norm;  // In front of the branch.
  ResidualForm residual = ResidualForm::kPlain;
  size_t matrices = 2;  // Of a branch.
  bool fixup = false;
};

// Fixup scales all but the last of the m matrices of a branch by L^(-1/(2m-2)); its last one, zero at the first step,
// is kept as large as the others', as training makes it.
double ScaleOf(const Form& form, size_t matrix) {
  if (!form.fixup || matrix + 1 == form.matrices) return 1;
  return std::pow(static_cast<double>(kBlocks), -1 / static_cast<double>(2 * form.matrices - 2));
}

const Form kForms[] = {
    {"plain", Form::kNothing},
    {"pre-LN", Form::kLayerNorm},
    {"BatchNorm", Form::kBatchNorm},
    {"Fixup, m = 2", Form::kNothing, ResidualForm::kPlain, 2, true},
    {"Fixup, m = 3", Form::kNothing, ResidualForm::kPlain, 3, true},
    {"SkipInit", Form::kNothing, ResidualForm::kScaledBranch},
    {"LayerScale", Form::kLayerNorm, ResidualForm::kLayerScale},
};

}  // namespace

LabTable MeasureDepthVariance(uint64_t seed) {
  LabTable table{"blocks", {}, {}};
  for (size_t blocks = 1; blocks <= kBlocks; blocks *= 2) table.rows.push_back({std::to_string(blocks), {}});
  const Map lambda(kDim, 1e-5f);
  for (const Form& form : kForms) {
    LabRandom random(seed);  // The same weights for every form.
    table.columns.push_back(form.name);
    Map x = random.Normals(kTokens * kDim, 0.0, 1.0), sum(x.size()), normed(x.size());
    LayerNorm(x.data(), kDim, kNone, kNone, normed.data(), kDim, kTokens, kDim, {.eps = kEps});
    const double start = MeanSquare(x);
    Residual residual{.form = form.residual, .alpha = 0.0f};
    if (form.residual == ResidualForm::kLayerScale) residual.lambda = lambda.data();
    for (size_t block = 1, row = 0; block <= kBlocks; ++block) {
      if (form.norm == Form::kBatchNorm) {
        BatchNormTrain(x.data(), kDim, kNone, kNone, normed.data(), kDim, {.samples = kTokens, .channels = kDim},
                       static_cast<float*>(nullptr), static_cast<float*>(nullptr), {.eps = kEps});
      }
      std::vector<Map> matrices;
      for (size_t i = 0; i < form.matrices; ++i) {  // He's: the branch keeps the variance.
        const double gain = i + 1 < form.matrices ? 2.0 : 1.0;
        matrices.push_back(
            random.Normals(kDim * kDim, 0.0, std::sqrt(gain / static_cast<double>(kDim)) * ScaleOf(form, i)));
      }
      const Map f = Branch(form.norm == Form::kNothing ? x : normed, matrices);
      ResidualLayerNorm(x.data(), kDim, f.data(), kDim, sum.data(), kDim, kNone, kNone, normed.data(), kDim, kTokens,
                        kDim, residual, {.eps = kEps});
      std::swap(x, sum);
      if ((block & (block - 1)) == 0) table.rows[row++].values.push_back(MeanSquare(x) / start);
    }
  }
  return table;
}

Verdict JudgeDepthVariance(const LabTable& table) {
  const auto exponent = [&](const char* column) {
    std::vector<double> depths, growths;
    for (size_t blocks = 4; blocks <= kBlocks; blocks *= 2) {
      depths.push_back(static_cast<double>(blocks));
      growths.push_back(table.At(std::to_string(blocks), column) - 1);
    }
    return FittedExponent(depths, growths);
  };
  Verdict verdict;
  verdict.Between("plain, factor a block", std::pow(table.At("64", "plain"), 1.0 / 64), 1.7, 2.3);
  verdict.Between("pre-LN, exponent of what is added", exponent("pre-LN"), 0.8, 1.2);
  verdict.Between("BatchNorm, exponent of what is added", exponent("BatchNorm"), 0.8, 1.2);
  verdict.AllAtMost("Fixup with two matrices a branch, at any depth", table.Column("Fixup, m = 2"), 5);
  verdict.AllAtMost("Fixup with three, at any depth", table.Column("Fixup, m = 3"), 5);
  verdict.AllAtMost("SkipInit, at any depth", table.Column("SkipInit"), 1.0001);
  verdict.AllAtMost("LayerScale, at any depth", table.Column("LayerScale"), 1.01);
  return verdict;
}

}  // namespace prenorm::tools
