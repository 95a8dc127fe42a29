// What one thread of a forward step knows, and the stages that it runs. Stages end with a barrier unless they say otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/model/forward.h"
#include "runtime/model/op_timer.h"

namespace prenorm {

struct StepContext {
  const ModelConfig& config;
  const BlockSpec& block;
  const ModelWeights& weights;
  const Step& step;
  StepBuffers& buffers;
  StepBuffers::Private own;
  const KvCache& cache;
  Worker& worker;
  OpTimer timer;
  size_t n;              ///< Tokens in work: rows [first, first + n) of x, q and attn.
  size_t first = 0;
  size_t layer_index = 0;  ///< n_layers outside the layers.

  size_t q_dim() const { return config.n_heads * config.head_dim; }
  size_t kv_dim() const { return config.n_kv_heads * config.head_dim; }
  /// Query heads that share a key-value head.
  size_t group() const { return config.n_heads / config.n_kv_heads; }
  float* x() const { return buffers.x + first * config.dim; }
  float* cos(size_t t) const { return buffers.cos + t * block.inv_freq.size(); }
  float* sin(size_t t) const { return buffers.sin + t * block.inv_freq.size(); }

  template <typename Op>
  void Time(OpKind kind, OpSite site, const Op& op) {
    timer.Time(kind, site, layer_index < config.n_layers ? static_cast<int>(layer_index) : -1, op);
  }
  void Wait(OpSite site) {
    Time(OpKind::kBarrier, site, [&] { worker.Wait(); });
  }
};

/// One matrix of a stage and where its result goes: row r of token t at out[t * stride + r].
struct Product {
  const WeightMatrix* w;
  const std::vector<float>* bias;  ///< Empty: none.
  float* out;
  size_t stride;
};

inline Product ProductOf(const Linear& linear, float* out) { return {&linear.w, &linear.bias, out, linear.w.rows}; }

/// RMSNorm of the rows of x, made ready for `products`. One token: each thread for itself, without a barrier.
StepBuffers::Pack NormAndPack(StepContext& context, OpSite site, const std::vector<float>& gain,
                              std::span<const Product> products);

/// `input` [n, width] made ready for `products`. One token: each thread for itself, without a barrier.
StepBuffers::Pack PackInput(StepContext& context, OpSite site, const float* input, size_t width,
                            std::span<const Product> products);

/// This thread's share of a list of matrices, split by bytes as if they were one. No barrier.
void Multiply(StepContext& context, OpSite site, std::span<const Product> products, const StepBuffers::Pack& pack,
              bool accumulate);

/// Rows `rows` of one matrix, bias included. No barrier, no event.
void MultiplyRows(StepContext& context, const Product& product, Range rows, const StepBuffers::Pack& pack,
                  bool accumulate);

/// x += W input: the residual addition is part of the product.
void AddProduct(StepContext& context, OpSite site, const float* input, size_t width, const Linear& linear);

/// Rotates queries and keys of a prompt's tokens and stores keys and values. For one token it does nothing: there
/// Attend does so for the heads that each thread attends to, which saves the barrier.
void RotateAndStore(StepContext& context);

/// Attention of the tokens in work. Returns its result, [n, q_dim]: for one token a copy of the thread's own.
const float* Attend(StepContext& context);

}  // namespace prenorm
