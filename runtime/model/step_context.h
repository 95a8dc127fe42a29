// What one thread of a forward step knows, and the stages that it runs. Stages end with a barrier unless
// they say otherwise.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <functional>
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
  size_t n;  ///< Tokens in work: rows [first, first + n) of x, q and attn.
  size_t first = 0;
  size_t layer_index = 0;  ///< n_layers outside the layers.
  size_t stage = 0;        ///< Of a batch: those that handed out their work so far, the same on every thread.

  size_t q_dim() const { return config.n_heads * config.head_dim; }
  size_t kv_dim() const { return config.n_kv_heads * config.head_dim; }
  /// Query heads that share a key-value head.
  size_t group() const { return config.n_heads / config.n_kv_heads; }
  const LayerSpec& layer() const { return block.layers[layer_index]; }
  bool is_batch() const { return !step.batch.empty(); }
  int32_t layer_or_none() const { return layer_index < config.n_layers ? static_cast<int32_t>(layer_index) : -1; }
  /// Where a single token's norms are computed if an experiment asks for a place.
  NormPlacement placement() const { return step.norms == nullptr ? NormPlacement::kEngine : step.norms->placement; }
  float* x() const { return buffers.x + first * config.dim; }
  bool norms_read_weights() const {
    return step.norms == nullptr || step.norms->stand_in == nullptr || step.norms->stand_in->reads_weights();
  }
  /// Whether NormAndPack leaves a norm's rows to each thread, in own.row; else they are in buffers.normed.
  bool norm_row_is_own() const { return n == 1 && placement() < NormPlacement::kStage; }
  /// A branch's output where it does not go into x at once: the rows that the norm before it no longer needs.
  float* branch() const { return buffers.normed + first * config.dim; }
  float* gate() const { return buffers.gate + first * config.ffn_dim; }
  float* up() const { return buffers.up + first * config.ffn_dim; }
  /// Of token t, by table `rope` of the block.
  float* cos(size_t rope, size_t t) const { return buffers.cos + angles(rope, t); }
  float* sin(size_t rope, size_t t) const { return buffers.sin + angles(rope, t); }
  size_t angles(size_t rope, size_t t) const { return (rope * step.tokens.size() + t) * (config.rope_dim / 2); }

  /// Whether norms of x take their sum of squares from whoever wrote x, and apply 1 / rms inside the next pack.
  bool deferred_norm() const {
    const NormExperiment* norms = step.norms;
    const bool moved = norms != nullptr && (norms->placement != NormPlacement::kEngine || norms->stand_in != nullptr);
    // A norm of the sum rewrites x, whose squares nobody sums.
    return step.deferred_norm && !moved && block.norm == NormKind::kRms && block.norm_behind == NormBehind::kBranch;
  }
  /// Threads split the rows of products at multiples of this: whole interleave groups, blocks of
  /// squares, pieces of oneDNN.
  size_t row_unit() const;

  /// Calls work(i) for the pieces [0, count) of a batch's stage that this thread is the first to take: one that the
  /// system holds up then keeps the others waiting for one piece only. Results must not depend on who does what.
  template <typename Work>
  void TakeTurns(size_t count, const Work& work) {
    assert(stage < config.n_layers * kTicketStages);
    const std::atomic_ref<size_t> next(buffers.tickets[stage++]);
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
  }

  template <typename Op>
  void Time(OpKind kind, OpSite site, const Op& op) {
    timer.Time(kind, site, layer_or_none(), op);
  }
  void Wait(OpSite site) {
    Time(OpKind::kBarrier, site, [&] { worker.Wait(); });
  }
  /// Shows rows that are complete on every thread. Without a tap it costs a branch.
  void Tap(TapPoint point, const float* rows, size_t width) {
    if (step.tap == nullptr) [[likely]]
      return;
    if (worker.thread() == 0) step.tap->Record(point, layer_index, rows, n, width);
    worker.Wait();
  }
};

/// One matrix of a stage and where its result goes: row r of token t at out[t * stride + r].
struct Product {
  const WeightMatrix* w;
  const std::vector<float>* bias;  ///< Empty: none.
  float* out;
  size_t stride;
  const float* panels = nullptr;  ///< See Linear.
};

inline Product ProductOf(const Linear& linear, float* out) {
  return {&linear.w, &linear.bias, out, linear.w.rows, linear.panels};
}

/// Rows [row, row + rows) of a product for tokens [token, token + tokens).
struct ProductPart {
  const Product& product;
  size_t row, rows, token, tokens;
};

/// Whether the products of a batch are made from panels.
bool TakesPanels(const StepContext& context, std::span<const Product> products);

/// All parts of products with panels, for f32 rows `input`, as threads come to take them; `finish`, if there is one, is
/// called with each when it is made. No barrier, no event.
void MultiplyPanels(StepContext& context, std::span<const Product> products, const float* input, bool accumulate,
                    const std::function<void(const ProductPart&)>& finish = {});

/// out[r] = the block's kind of norm of row r of x, rows of `cols` elements one after the other. out == x is allowed.
/// `bias` may be null.
void Normalize(const StepContext& context, OpSite site, const float* gain, const float* bias, const float* x,
               float* out, size_t rows, size_t cols);
inline void Normalize(const StepContext& context, OpSite site, const NormWeights& norm, const float* x, float* out,
                      size_t rows, size_t cols) {
  Normalize(context, site, norm.gain.data(), norm.bias.empty() ? nullptr : norm.bias.data(), x, out, rows, cols);
}

/// Norm of the rows of x, made ready for `products`; without weights the rows as they are. Where norm_row_is_own, each
/// thread for itself, without a barrier.
StepBuffers::Packed NormAndPack(StepContext& context, OpSite site, const NormWeights& norm,
                                std::span<const Product> products);

/// What a deferred norm needs of one token's x, from elements [begin, end) that this thread has just written:
/// begin is a multiple of kSquaresBlock, end too or dim. Nothing unless norms are deferred. `norm_site`: of
/// the norm that follows.
void SumSquaresOfX(StepContext& context, OpSite norm_site, Range elements);

/// `rows` of `input` [n, width] packed in each format that some product wants. No barrier, no event.
void PackRows(const float* input, size_t width, Range rows, size_t n, std::span<const Product> products,
              const StepBuffers::Pack& pack);

/// `input` [n, width] made ready for `products`. One token: each thread for itself, without a barrier.
StepBuffers::Packed PackInput(StepContext& context, OpSite site, const float* input, size_t width,
                              std::span<const Product> products);

/// This thread's share of a list of matrices, split by bytes as if they were one. No barrier.
void Multiply(StepContext& context, OpSite site, std::span<const Product> products, const StepBuffers::Packed& pack,
              bool accumulate);

/// Rows `rows` of one matrix, bias included. No barrier, no event.
void MultiplyRows(StepContext& context, const Product& product, Range rows, const StepBuffers::Packed& pack,
                  bool accumulate);

/// What stands behind a branch: a norm, if there is one, and a factor (LayerWeights::attn_scale).
struct BranchEnd {
  OpSite norm_site;
  const NormWeights& norm;
  const std::vector<float>& scale;
};

/// x = stream_scale * x + residual_scale * scale * norm(W input), or with NormBehind::kSum the norm of the sum.
/// Plain x += W input is part of the product.
void AddBranch(StepContext& context, OpSite site, const float* input, size_t width, const Linear& linear,
               const BranchEnd& end);

/// gate = act(Wgate m) * Wup m for the packed rows m; gate and up by the same rows, so that each thread can apply the
/// gate to its own before the barrier. No barrier.
void GateUp(StepContext& context, const LayerWeights& layer, const StepBuffers::Packed& pack);

/// x += the weighted sum of the chosen experts' outputs for norm(x), and of the shared expert's.
void MixExperts(StepContext& context, const LayerWeights& layer);

/// Norm of all heads of a token together, for queries and keys (QkNorm::kRows).
void NormalizeQkRows(StepContext& context, const LayerWeights& layer);

/// Normalizes heads (QkNorm::kHeads), rotates queries and keys of a prompt's tokens and stores keys and values. For one
/// token it does nothing: there Attend does so for the heads that each thread attends to, which saves the barrier.
void RotateAndStore(StepContext& context, const LayerWeights& layer);

/// The same two for a batch; attention needs no row of another sequence. The result is in buffers.attn.
void RotateAndStoreBatch(StepContext& context, const LayerWeights& layer);
void AttendBatch(StepContext& context);

/// Attention of the tokens in work. Returns its result, [n, q_dim]: for one token a copy of the thread's own.
const float* Attend(StepContext& context, const LayerWeights& layer);

}  // namespace prenorm
