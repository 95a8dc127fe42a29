// The operators of a decoder as their formulas say, in f64 and one element after the other. Nothing here calls a kernel
// but the reader of stored rows. What the engine rounds by design is rounded here too: inputs of quantized products and
// the cache. Left out, it would hide errors as large: 1 to 7 percent of a row's largest element on three real models.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "prenorm/model.h"
#include "runtime/model/weights.h"
#include "runtime/parallel/team.h"

namespace prenorm::reference {

/// Rows of activations, [n, width].
struct Rows {
  Rows() = default;
  Rows(size_t count, size_t cols) : n(count), width(cols), values(count * cols) {}
  std::span<double> operator[](size_t row) { return {values.data() + row * width, width}; }
  std::span<const double> operator[](size_t row) const { return {values.data() + row * width, width}; }
  size_t n = 0;
  size_t width = 0;
  std::vector<double> values;
};

/// What all layers share.
struct Decoder {
  const ModelConfig& config;
  const BlockSpec& block;
  const ModelWeights& weights;  // Not interleaved.
  size_t capacity = 0;          // Tokens of the session: decides between frequencies of short and of long contexts.
};

/// W x + bias for each row x. Rows of W are shared out among the threads; each is read once.
Rows Multiply(const WeightMatrix& w, const std::vector<float>& bias, const Rows& x, Team& team);
/// One row of a matrix.
std::vector<double> RowOf(const WeightMatrix& w, size_t row);

/// The model's norm of each row; without weights the rows as they are.
Rows Norm(const Decoder& decoder, const NormWeights& norm, const Rows& x);

/// Row t of the result: attention of token t over tokens 0 … t. q, k, v are the products, before norms and positions.
Rows Attention(const Decoder& decoder, size_t layer, DType cache, const Rows& q, const Rows& k, const Rows& v);

/// act(x).
double Activate(Gate act, double x);

/// x + residual_scale * norm(branch).
Rows Join(const Decoder& decoder, const Rows& x, const NormWeights& norm, const Rows& branch);

/// Shares of the experts: softmax of W x.
Rows Router(const LayerWeights& layer, const Rows& normed, Team& team);
/// Weighted sum of the experts whose share in a row of `router` is negative, the mark of the chosen ones.
Rows MixExperts(const Decoder& decoder, const LayerWeights& layer, const Rows& normed, const Rows& router, Team& team);

}  // namespace prenorm::reference
