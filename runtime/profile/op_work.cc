// Counts from the weights' own shapes, so that what a family lacks counts nothing.
#include "prenorm/op_work.h"

#include <algorithm>

#include "runtime/model/parts.h"

namespace prenorm {
namespace {

constexpr uint64_t kF32 = sizeof(float);
constexpr uint64_t kExpFlops = 8;

class Counter {
 public:
  Counter(const ModelParts& parts, int32_t layer, const StepShape& step)
      : config_(parts.config), block_(parts.block), weights_(parts.weights), layer_(layer), step_(step) {
    const bool last = layer >= 0 && static_cast<size_t>(layer) + 1 == config_.n_layers;
    // Behind the last layer's keys and values only the last token matters.
    late_tokens_ = !block_.bidirectional && (last || layer < 0) ? (step.logits ? 1 : 0) : step.tokens;
  }

  OpWork Embedding() const {
    const uint64_t rows =
        step_.tokens * (1 + (weights_.position_embd.rows != 0 ? 1 : 0) + (weights_.token_types.rows != 0 ? 1 : 0));
    const uint64_t cold = rows * RowBytes(weights_.token_embd.type, config_.dim);
    return {cold + step_.tokens * config_.dim * kF32, rows * config_.dim, cold};
  }

  OpWork MatMul(OpSite site) const {
    if (site == OpSite::kOutput) return Product(weights_.output, late_tokens_);
    if (layer_ < 0) return {};
    const LayerWeights& layer = weights_.layers[static_cast<size_t>(layer_)];
    switch (site) {
      case OpSite::kQkv:
        return Sum(Sum(Product(layer.wq.w, step_.tokens), Product(layer.wk.w, step_.tokens)),
                   Product(layer.wv.w, step_.tokens));
      case OpSite::kAttnOutput:
        return Product(layer.wo.w, late_tokens_);
      case OpSite::kGateUp: {
        // Cohere's branches share one norm in front of the last layer's cut.
        const size_t tokens = block_.parallel ? step_.tokens : late_tokens_;
        // Of a mixture, what all tokens share (Qwen2-MoE).
        const OpWork dense = Sum(Product(layer.w_gate.w, tokens), Product(layer.w_up.w, tokens));
        if (layer.experts.empty()) return dense;
        const Expert& expert = layer.experts[0];
        return Sum(dense, Sum(Product(layer.router, tokens), Sum(Experts(expert.w_gate), Experts(expert.w_up))));
      }
      case OpSite::kDown: {
        const OpWork dense = Product(layer.w_down.w, late_tokens_);
        return layer.experts.empty() ? dense : Sum(dense, Experts(layer.experts[0].w_down));
      }
      default:
        return {};
    }
  }

  OpWork Norm(OpSite site) const {
    const uint64_t dim = config_.dim;
    switch (site) {
      case OpSite::kAttnNorm:
      case OpSite::kEmbdNorm:
        return NormRows(step_.tokens, dim);
      case OpSite::kQkNorm: {
        const bool rows = block_.qk_norm == QkNorm::kRows;
        const uint64_t q = q_dim(), k = kv_dim(), head_dim = config_.head_dim;
        return Sum(NormRows(step_.tokens * (rows ? 1 : config_.n_heads), rows ? q : head_dim),
                   NormRows(step_.tokens * (rows ? 1 : config_.n_kv_heads), rows ? k : head_dim));
      }
      case OpSite::kFfnNorm:
      case OpSite::kFinalNorm:
        return NormRows(late_tokens_, dim);
      case OpSite::kPostAttnNorm:
      case OpSite::kPostFfnNorm:
        return Sum(NormRows(late_tokens_, dim), Residual());
      default:
        return {};
    }
  }

  // The packed form has one byte an element, and a scale a block, which is left out.
  OpWork Pack(OpSite site) const {
    const uint64_t width = site == OpSite::kAttnOutput ? q_dim()
                           : site == OpSite::kDown     ? config_.ffn_dim
                                                       : config_.dim;
    const uint64_t elements = (site == OpSite::kAttnNorm ? step_.tokens : late_tokens_) * width;
    return {elements * (kF32 + 1), 3 * elements};
  }

  OpWork Rope() const {
    const uint64_t rotated = step_.tokens * (config_.n_heads + config_.n_kv_heads) * config_.rope_dim;
    const uint64_t flops = layer_ >= 0 && block_.layers[static_cast<size_t>(layer_)].rope == kNoRope ? 0 : 3 * rotated;
    const uint64_t moved = step_.tokens * (2 * q_dim() + 3 * kv_dim()) * kF32;
    return {moved + step_.tokens * kv_bytes(), flops};
  }

  OpWork Attention() const {
    if (layer_ < 0 || late_tokens_ == 0) return {};
    const uint64_t window = block_.layers[static_cast<size_t>(layer_)].window;
    uint64_t seen = 0;  // Pairs of a token and a position that it sees.
    for (size_t t = step_.tokens - late_tokens_; t < step_.tokens; ++t) {
      const uint64_t positions = block_.bidirectional ? step_.tokens : step_.position + t + 1;
      seen += window == 0 ? positions : std::min(positions, window);
    }
    const uint64_t end = step_.position + step_.tokens;
    const uint64_t first = window == 0 ? 0 : end - std::min(end, window + late_tokens_ - 1);
    const uint64_t pairs = seen * config_.n_heads;
    const uint64_t cold = (end - first) * kv_bytes();
    return {cold + 2 * late_tokens_ * q_dim() * kF32, pairs * (4 * config_.head_dim + kExpFlops), cold};
  }

  OpWork Activation() const {
    const bool mixture = block_.n_experts != 0;
    const uint64_t width = mixture ? block_.n_experts : config_.ffn_dim;
    const size_t tokens = block_.parallel ? step_.tokens : late_tokens_;
    return {tokens * width * 3 * kF32, tokens * width * (kExpFlops + 3)};
  }

  OpWork Residual() const { return {late_tokens_ * config_.dim * 3 * kF32, late_tokens_ * config_.dim}; }

 private:
  static OpWork Sum(const OpWork& a, const OpWork& b) {
    return {a.bytes + b.bytes, a.flops + b.flops, a.cold_bytes + b.cold_bytes};
  }
  uint64_t q_dim() const { return config_.n_heads * config_.head_dim; }
  uint64_t kv_dim() const { return config_.n_kv_heads * config_.head_dim; }
  // Keys and values of one position.
  uint64_t kv_bytes() const { return 2 * config_.n_kv_heads * RowBytes(step_.cache, config_.head_dim); }

  static OpWork Product(const WeightMatrix& w, uint64_t tokens) {
    if (w.rows == 0 || tokens == 0) return {};
    const uint64_t weights = w.rows * RowBytes(w.type, w.cols);
    return {weights + tokens * (w.rows + w.cols) * kF32, 2 * tokens * w.rows * w.cols, weights};
  }

  OpWork Experts(const WeightMatrix& w) const {
    const uint64_t pairs = late_tokens_ * block_.n_experts_used;
    OpWork work = Product(w, pairs);
    if (pairs == 0) return work;
    const uint64_t others = work.cold_bytes * (std::min<uint64_t>(pairs, block_.n_experts) - 1);
    work.bytes += others;
    work.cold_bytes += others;
    return work;
  }

  // Squares and their sum, a product with the root's inverse and one with the gain; LayerNorm subtracts the mean in
  // both passes, sums for it, and adds a bias.
  OpWork NormRows(uint64_t rows, uint64_t cols) const {
    if (rows == 0) return {};
    const uint64_t per_element = block_.norm == NormKind::kRms ? 4 : 8;
    const uint64_t constants = block_.norm == NormKind::kRms ? 1 : 2;
    return {(2 * rows + constants) * cols * kF32, rows * (per_element * cols + 4)};
  }

  const ModelConfig& config_;
  const BlockSpec& block_;
  const ModelWeights& weights_;
  int32_t layer_;
  StepShape step_;
  uint64_t late_tokens_;
};

}  // namespace

OpWork WorkOf(const Model& model, OpKind kind, OpSite site, int32_t layer, const StepShape& step) {
  const Counter counter(model.parts(), layer, step);
  switch (kind) {
    case OpKind::kEmbedding:
      return counter.Embedding();
    case OpKind::kNorm:
      return counter.Norm(site);
    case OpKind::kMatMul:
      return counter.MatMul(site);
    case OpKind::kPack:
      return counter.Pack(site);
    case OpKind::kRope:
      return counter.Rope();
    case OpKind::kAttention:
      return counter.Attention();
    case OpKind::kActivation:
      return counter.Activation();
    case OpKind::kResidual:
      return counter.Residual();
    case OpKind::kBarrier:
    case OpKind::kIdle:
    case OpKind::kCount:
      break;
  }
  return {};
}

}  // namespace prenorm
