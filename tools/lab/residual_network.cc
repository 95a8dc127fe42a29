// Forward and backward of the small transformer.
#include "tools/lab/residual_network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "prenorm/norm.h"
#include "prenorm/norm_backward.h"

namespace prenorm::tools {
namespace {

constexpr float kEps = 1e-5f;
constexpr const float* kNone = nullptr;
using Rows = std::vector<float>;

// Sums by 16 lanes, which the compiler can turn into vectors without changing their order.
float Dot(const float* a, const float* b, size_t count) {
  std::array<float, 16> lanes{};
  size_t i = 0;
  for (; i + lanes.size() <= count; i += lanes.size()) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

void AddScaled(float* out, const float* x, float factor, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] += factor * x[i];
}

// x [rows, dim] times weights [in, out].
Rows Product(const Rows& x, const float* weights, size_t dim) {
  Rows out(x.size());
  for (size_t at = 0; at < x.size(); at += dim) {
    for (size_t i = 0; i < dim; ++i) AddScaled(&out[at], weights + i * dim, x[at + i], dim);
  }
  return out;
}

// Its gradients: returns that by x, and adds that by the weights.
Rows ProductBackward(const Rows& x, const float* weights, const Rows& dy, float* dweights, size_t dim) {
  Rows dx(x.size());
  for (size_t at = 0; at < x.size(); at += dim) {
    for (size_t i = 0; i < dim; ++i) {
      dx[at + i] = Dot(weights + i * dim, &dy[at], dim);
      AddScaled(dweights + i * dim, &dy[at], x[at + i], dim);
    }
  }
  return dx;
}

// The sum of the rows times `factor`, [dim].
Rows SumOfRows(const Rows& x, float factor, size_t dim) {
  Rows sum(dim);
  for (size_t at = 0; at < x.size(); at += dim) AddScaled(sum.data(), &x[at], factor, dim);
  return sum;
}

Rows Repeated(const Rows& row, size_t times) {
  Rows out;
  for (size_t t = 0; t < times; ++t) out.insert(out.end(), row.begin(), row.end());
  return out;
}

Rows Normalized(const Rows& x, size_t dim) {
  Rows out(x.size());
  LayerNorm(x.data(), dim, kNone, kNone, out.data(), dim, x.size() / dim, dim, {.eps = kEps});
  return out;
}

Rows NormBackward(const Rows& x, const Rows& dy, size_t dim) {
  Rows dx(x.size());
  LayerNormBackward(x.data(), dim, dy.data(), dim, nullptr, dx.data(), dim, nullptr, nullptr, x.size() / dim, dim, kEps,
                    nullptr);
  return dx;
}

}  // namespace

// What the way back needs of each branch, two a block.
struct ResidualNetwork::Tape {
  struct Branch {
    Rows stream;  // What comes in, kPreNorm; the sum in front of the norm, kPostNorm.
    Rows input;   // Of the first matrix: all tokens, or their mean.
    Rows hidden;  // Of the second.
  };
  std::vector<Branch> branches;
  Rows last;  // In front of the final norm.
};

void ResidualNetwork::Initialize(LabRandom& random, double beta) {
  weights.resize(blocks * kMatrices * dim * dim);
  const double limit = beta * std::sqrt(3 / static_cast<double>(dim));
  for (float& weight : weights) weight = static_cast<float>(limit * (2 * random.Uniform() - 1));
}

std::vector<float> ResidualNetwork::Run(const std::vector<float>& start, Tape* tape) const {
  Rows x = start;
  for (size_t i = 0; i < 2 * blocks; ++i) {
    const bool attention = i % 2 == 0;
    const float* first = weights.data() + i * 2 * dim * dim;
    const Rows input = placement == kPreNorm ? Normalized(x, dim) : x;
    Tape::Branch branch;
    branch.input = attention ? SumOfRows(input, 1.0f / static_cast<float>(tokens), dim) : input;
    branch.hidden = Product(branch.input, first, dim);
    if (!attention) {
      for (float& value : branch.hidden) value = std::max(value, 0.0f);
    }
    Rows f = Product(branch.hidden, first + dim * dim, dim);
    if (attention) f = Repeated(f, tokens);
    if (placement == kPreNorm) {
      branch.stream = x;
      AddScaled(x.data(), f.data(), 1.0f, x.size());
    } else {
      branch.stream.resize(x.size());
      ResidualLayerNorm(x.data(), dim, f.data(), dim, branch.stream.data(), dim, kNone, kNone, x.data(), dim, tokens,
                        dim, {.form = ResidualForm::kScaledInput, .alpha = alpha}, {.eps = kEps});
    }
    if (tape != nullptr) tape->branches.push_back(std::move(branch));
  }
  if (placement == kPostNorm) return x;
  if (tape != nullptr) tape->last = x;
  return Normalized(x, dim);
}

std::vector<float> ResidualNetwork::Forward(const std::vector<float>& x) const { return Run(x, nullptr); }

std::vector<float> ResidualNetwork::Gradient(const std::vector<float>& x, const std::vector<float>& dy) const {
  Tape tape;
  Run(x, &tape);
  Rows gradient(weights.size());
  Rows dx = placement == kPreNorm ? NormBackward(tape.last, dy, dim) : dy;
  for (size_t i = 2 * blocks; i-- > 0;) {
    const bool attention = i % 2 == 0;
    const Tape::Branch& branch = tape.branches[i];
    const size_t at = i * 2 * dim * dim;
    const Rows sum = placement == kPreNorm ? dx : NormBackward(branch.stream, dx, dim);
    const Rows df = attention ? SumOfRows(sum, 1.0f, dim) : sum;
    Rows hidden = ProductBackward(branch.hidden, &weights[at + dim * dim], df, &gradient[at + dim * dim], dim);
    if (!attention) {
      for (size_t k = 0; k < hidden.size(); ++k) hidden[k] = branch.hidden[k] > 0 ? hidden[k] : 0.0f;
    }
    Rows input = ProductBackward(branch.input, &weights[at], hidden, &gradient[at], dim);
    if (attention) {
      for (float& value : input) value /= static_cast<float>(tokens);
      input = Repeated(input, tokens);
    }
    if (placement == kPreNorm) input = NormBackward(branch.stream, input, dim);
    const float skip = placement == kPreNorm ? 1.0f : alpha;
    for (size_t k = 0; k < dx.size(); ++k) dx[k] = skip * sum[k] + input[k];
  }
  return gradient;
}

double ResidualNetwork::BlockNorm(const std::vector<float>& gradient, size_t first, size_t count) const {
  const size_t block = kMatrices * dim * dim;
  double sum = 0;
  for (size_t i = first * block; i < (first + count) * block; ++i) {
    sum += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  }
  return std::sqrt(sum);
}

}  // namespace prenorm::tools
