// A small transformer at initialization and its gradient, LayerNorm's part of it by the library's kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/lab/random.h"

namespace prenorm::tools {

/// Blocks of two branches. Attention is what it is at the start, when all scores are equal: the mean over the tokens,
/// with matrices for value and output. The other branch has two matrices and a ReLU between them. All are square.
struct ResidualNetwork {
  enum Placement {
    kPostNorm,  ///< x = LayerNorm(alpha * x + branch(x))
    kPreNorm,   ///< x = x + branch(LayerNorm(x)), and a LayerNorm at the end.
  };
  static constexpr size_t kMatrices = 4;  ///< Of a block.

  Placement placement = kPostNorm;
  size_t tokens = 0;
  size_t dim = 0;
  size_t blocks = 0;
  float alpha = 1.0f;          ///< Of kPostNorm.
  std::vector<float> weights;  ///< [blocks, kMatrices, dim (in), dim (out)]

  /// Xavier's: weights of variance beta^2 / dim.
  void Initialize(LabRandom& random, double beta);

  /// The rows behind the last norm, [tokens, dim], for rows x of the same shape.
  std::vector<float> Forward(const std::vector<float>& x) const;

  /// Gradient of the sum of output * dy by the weights, in their shape.
  std::vector<float> Gradient(const std::vector<float>& x, const std::vector<float>& dy) const;

  /// Root of the sum of squares of blocks [first, first + count) of `gradient`.
  double BlockNorm(const std::vector<float>& gradient, size_t first, size_t count) const;

 private:
  struct Tape;
  std::vector<float> Run(const std::vector<float>& x, Tape* tape) const;
};

}  // namespace prenorm::tools
