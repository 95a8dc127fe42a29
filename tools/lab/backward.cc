// Experiment "backward": LayerNorm's gradient with each of its two correction terms left out.
#include <cmath>

#include "prenorm/norm_backward.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kRows = 8;
constexpr float kEps = 1e-5f;

// One row in f64: x_hat and the reciprocal deviation.
struct Statistics {
  Statistics(const float* x, size_t cols) : x_hat(x, x + cols) {
    double mean = 0, variance = 0;
    for (const double value : x_hat) mean += value / static_cast<double>(cols);
    for (const double value : x_hat) variance += (value - mean) * (value - mean) / static_cast<double>(cols);
    r = 1 / std::sqrt(variance + static_cast<double>(kEps));
    for (double& value : x_hat) value = (value - mean) * r;
  }
  std::vector<double> x_hat;
  double r;
};

}  // namespace

LabTable MeasureBackward(uint64_t seed) {
  LabRandom random(seed);
  LabTable table{"columns", {"kernel", "no mean term", "no x_hat term", "neither"}, {}};
  for (size_t cols = 16; cols <= 4096; cols *= 4) {
    const std::vector<float> x = random.Normals(kRows * cols, 1.0, 2.0),
                             target = random.Normals(kRows * cols, 0.5, 1.0);
    std::vector<float> dy(x.size()), dx(x.size());
    for (size_t r = 0; r < kRows; ++r) {  // Of the loss |y - target|^2 / 2.
      const Statistics row(x.data() + r * cols, cols);
      for (size_t c = 0; c < cols; ++c) dy[r * cols + c] = static_cast<float>(row.x_hat[c]) - target[r * cols + c];
    }
    LayerNormBackward(x.data(), cols, dy.data(), cols, nullptr, dx.data(), cols, nullptr, nullptr, kRows, cols, kEps,
                      nullptr);
    double norm = 0, errors[4] = {};
    for (size_t r = 0; r < kRows; ++r) {
      const Statistics row(x.data() + r * cols, cols);
      double mean = 0, mean_x_hat = 0;
      for (size_t c = 0; c < cols; ++c) {
        mean += dy[r * cols + c] / static_cast<double>(cols);
        mean_x_hat += dy[r * cols + c] * row.x_hat[c] / static_cast<double>(cols);
      }
      for (size_t c = 0; c < cols; ++c) {
        const double plain = dy[r * cols + c], scaled = row.x_hat[c] * mean_x_hat;
        const double right = row.r * (plain - mean - scaled);
        const double found[] = {dx[r * cols + c], row.r * (plain - scaled), row.r * (plain - mean), row.r * plain};
        for (size_t i = 0; i < 4; ++i) errors[i] += (found[i] - right) * (found[i] - right);
        norm += right * right;
      }
    }
    LabRow out{std::to_string(cols), {}};
    for (const double error : errors) out.values.push_back(std::sqrt(error / norm));
    table.rows.push_back(out);
  }
  return table;
}

Verdict JudgeBackward(const LabTable& table) {
  Verdict verdict;
  verdict.AllAtMost("the kernel, with both terms", table.Column("kernel"), 1e-5);
  verdict.AllAtLeast("without the mean term", table.Column("no mean term"), 0.1);
  verdict.AllAtLeast("without the x_hat term", table.Column("no x_hat term"), 0.1);
  verdict.AllAtLeast("without either", table.Column("neither"), 0.1);
  return verdict;
}

}  // namespace prenorm::tools
