// A model, step by step, as one thread of the team sees it (Touvron et al. 2023, section 2.2):
//
//   h = x + Wo Attention(RoPE(Wq n), RoPE(Wk n), Wv n),   n = norm(x)
//   x = h + Wdown (act(Wgate m) * Wup m),                 m = norm(h)
//
// What a family does otherwise is in its BlockSpec, or a weight is absent: norms behind the branches, one norm for
// both, norms of sums, norms of queries and keys, no gate, a mixture of experts, factors, caps.
//
// Every thread computes a fixed share of each product's rows. A single token's normalized row is cheap, so each thread
// makes its own copy and the barrier behind the norm disappears; the rows of a prompt's tokens are shared out instead.
#include "runtime/model/forward.h"

#include <algorithm>
#include <cstring>

#include "prenorm/ops.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

void EmbedToken(StepContext& context, size_t id, size_t position, float* x) {
  const size_t dim = context.config.dim;
  DequantizeWeightRow(context.weights.token_embd, id, x);
  if (context.block.embedding_scale != 1.0f) ScaleInPlace(x, context.block.embedding_scale, dim);
  if (context.weights.token_types.rows != 0) {
    DequantizeWeightRow(context.weights.token_types, 0, context.own.row);
    AddInPlace(x, context.own.row, dim);
  }
  if (context.weights.position_embd.rows == 0) return;
  DequantizeWeightRow(context.weights.position_embd, position, context.own.row);
  AddInPlace(x, context.own.row, dim);
}

// Row t of x and the angles of its position.
void EmbedAt(StepContext& context, size_t t, size_t position) {
  EmbedToken(context, static_cast<size_t>(context.step.tokens[t]), position,
             context.buffers.x + t * context.config.dim);
  // The sequences of a batch are short enough for the frequencies of short ones (Encoder sees to it).
  const size_t capacity = context.is_batch() ? 0 : context.cache.capacity();
  for (size_t i = 0; i < context.block.ropes.size(); ++i) {
    const RopeTable& rope = context.block.ropes[i];
    const std::vector<float>& inv_freq = rope.Of(capacity);
    RopeAngles(inv_freq.data(), inv_freq.size(), position, rope.magnitude, context.cos(i, t), context.sin(i, t));
  }
}

void NormalizeEmbeddings(StepContext& context, Range rows) {
  const NormWeights& norm = context.weights.embd_norm;
  if (!norm || rows.size() == 0) return;
  float* x = context.buffers.x + rows.begin * context.config.dim;
  context.Time(OpKind::kNorm, OpSite::kEmbdNorm,
               [&] { Normalize(context, OpSite::kEmbdNorm, norm, x, x, rows.size(), context.config.dim); });
}

void EmbedBatch(StepContext& context) {
  const std::span<const SequenceTile> batch = context.step.batch;
  const Range mine = context.worker.Share(batch.size());
  if (mine.size() == 0) return;
  const SequenceTile& last = batch[mine.end - 1];
  context.Time(OpKind::kEmbedding, OpSite::kEmbed, [&] {
    for (const SequenceTile& tile : batch.subspan(mine.begin, mine.size())) {
      for (size_t i = 0; i < tile.count; ++i) EmbedAt(context, tile.first + i, tile.position + i);
    }
  });
  NormalizeEmbeddings(context, {batch[mine.begin].first, last.first + last.count});
}

void Embed(StepContext& context) {
  if (context.is_batch()) {
    EmbedBatch(context);
    return context.Wait(OpSite::kEmbed);
  }
  const Range mine = context.worker.Share(context.n);
  context.Time(OpKind::kEmbedding, OpSite::kEmbed, [&] {
    for (size_t t = mine.begin; t < mine.end; ++t) EmbedAt(context, t, context.step.position + t);
  });
  NormalizeEmbeddings(context, mine);
  const bool has_row = context.n == 1 && mine.size() == 1;
  if (has_row) SumSquaresOfX(context, OpSite::kAttnNorm, {0, context.config.dim});
  context.Wait(OpSite::kEmbed);
}

// The product whose result the activation sees: up itself where there is no gate.
Product GateProduct(StepContext& context, const LayerWeights& layer) {
  return layer.w_gate ? ProductOf(layer.w_gate, context.gate()) : ProductOf(layer.w_up, context.gate());
}

void Qkv(StepContext& context, const LayerWeights& layer) {
  const Product all[] = {ProductOf(layer.wq, context.buffers.q), ProductOf(layer.wk, context.buffers.k),
                         ProductOf(layer.wv, context.buffers.v), GateProduct(context, layer),
                         ProductOf(layer.w_up, context.up())};
  const std::span<const Product> qkv(all, 3);
  const bool parallel = context.block.parallel;
  const StepBuffers::Packed pack = NormAndPack(context, OpSite::kAttnNorm, layer.attn_norm, parallel ? all : qkv);
  Multiply(context, OpSite::kQkv, qkv, pack, /*accumulate=*/false);
  if (parallel) GateUp(context, layer, pack);
  context.Wait(OpSite::kQkv);
  context.Tap(TapPoint::kQuery, context.buffers.q, context.q_dim());
  context.Tap(TapPoint::kKey, context.buffers.k, context.kv_dim());
  context.Tap(TapPoint::kValue, context.buffers.v, context.kv_dim());
  if (context.block.qk_norm == QkNorm::kRows) NormalizeQkRows(context, layer);
}

void FeedForward(StepContext& context, const LayerWeights& layer) {
  if (!layer.experts.empty()) return MixExperts(context, layer);
  if (!context.block.parallel) {
    const Product products[] = {GateProduct(context, layer), ProductOf(layer.w_up, context.up())};
    GateUp(context, layer, NormAndPack(context, OpSite::kFfnNorm, layer.ffn_norm, products));
    context.Wait(OpSite::kGateUp);
  }
  context.Tap(TapPoint::kGate, context.gate(), context.config.ffn_dim);
  AddBranch(context, OpSite::kDown, context.gate(), context.config.ffn_dim, layer.w_down,
            {OpSite::kPostFfnNorm, layer.post_ffn_norm, layer.ffn_scale});
}

// The rows of a batch behind the final norm, if there is one.
void FinishBatch(StepContext& context) {
  const NormWeights& norm = context.weights.final_norm;
  if (!norm) return;
  const size_t dim = context.config.dim;
  context.Time(OpKind::kNorm, OpSite::kFinalNorm, [&] {
    const Range mine = context.worker.Share(context.n);
    Normalize(context, OpSite::kFinalNorm, norm, context.buffers.x + mine.begin * dim,
              context.buffers.normed + mine.begin * dim, mine.size(), dim);
  });
}

// Of all tokens in work, into step.all_logits or the session's own row.
void Logits(StepContext& context) {
  const std::vector<float> no_bias;
  const size_t vocab_size = context.config.vocab_size;
  float* out = context.step.all_logits != nullptr ? context.step.all_logits : context.buffers.logits;
  const Product products[] = {{&context.weights.output, &no_bias, out, vocab_size}};
  const StepBuffers::Packed pack = NormAndPack(context, OpSite::kFinalNorm, context.weights.final_norm, products);
  const Range rows = context.worker.Share(vocab_size, context.row_unit());
  context.Time(OpKind::kMatMul, OpSite::kOutput, [&] {
    MultiplyRows(context, products[0], rows, pack, /*accumulate=*/false);
    const BlockSpec& block = context.block;
    for (size_t t = 0; t < context.n; ++t) {
      float* mine = out + t * vocab_size + rows.begin;
      if (block.logit_scale != 1.0f) ScaleInPlace(mine, block.logit_scale, rows.size());
      if (block.logit_soft_cap != 0.0f) SoftCap(mine, rows.size(), block.logit_soft_cap);
    }
  });
  context.Wait(OpSite::kOutput);  // The end of the step would wait as well, but no event would tell.
  if (context.step.all_logits != nullptr && context.worker.thread() == 0) {
    std::memcpy(context.buffers.logits, out + (context.n - 1) * vocab_size, vocab_size * sizeof(float));
  }
}

bool ShallCancel(const StepContext& context) {
  const Step& step = context.step;
  if (step.on_layer != nullptr && !(*step.on_layer)(context.layer_index)) return true;
  return step.cancel != nullptr && step.cancel->load(std::memory_order_relaxed);
}

// True once thread 0 has been told to stop; all threads agree because a barrier lies between.
bool CancelledAfterQkv(StepContext& context, const LayerWeights& layer, std::atomic<bool>& cancelled) {
  if (context.worker.thread() == 0 && ShallCancel(context)) cancelled.store(true, std::memory_order_relaxed);
  Qkv(context, layer);
  return cancelled.load(std::memory_order_relaxed);
}

void RunThread(StepContext& context, std::atomic<bool>& cancelled) {
  const size_t n_layers = context.config.n_layers;
  context.layer_index = n_layers;
  Embed(context);
  context.Tap(TapPoint::kEmbedding, context.x(), context.config.dim);
  for (context.layer_index = 0; context.layer_index < n_layers; ++context.layer_index) {
    const LayerWeights& layer = context.weights.layers[context.layer_index];
    if (CancelledAfterQkv(context, layer, cancelled)) return;
    const bool batch = context.is_batch();
    batch ? RotateAndStoreBatch(context, layer) : RotateAndStore(context, layer);
    if (!batch && context.layer_index + 1 == n_layers && context.step.all_logits == nullptr) {
      // Behind the last layer's keys and values only the last token matters, if any.
      if (!context.step.wants_logits) return;
      context.first = context.n - 1;
      context.n = 1;
    }
    if (batch) AttendBatch(context);
    const float* attention = batch ? context.buffers.attn : Attend(context, layer);
    context.Tap(TapPoint::kAttention, attention, context.q_dim());
    AddBranch(context, OpSite::kAttnOutput, attention, context.q_dim(), layer.wo,
              {OpSite::kPostAttnNorm, layer.post_attn_norm, layer.attn_scale});
    context.Tap(TapPoint::kAttnOutput, context.x(), context.config.dim);
    FeedForward(context, layer);
    context.Tap(TapPoint::kDown, context.x(), context.config.dim);
  }
  context.is_batch() ? FinishBatch(context) : Logits(context);
}

}  // namespace

void GateUp(StepContext& context, const LayerWeights& layer, const StepBuffers::Packed& pack) {
  const size_t width = layer.w_up.w.rows;
  const Product alone[] = {ProductOf(layer.w_up, context.gate())};
  if (!layer.w_gate && TakesPanels(context, alone)) {  // The activation then counts as part of the product.
    context.Time(OpKind::kMatMul, OpSite::kGateUp, [&] {
      MultiplyPanels(context, alone, static_cast<const float*>(pack.f32), false, [&](const ProductPart& part) {
        for (size_t t = part.token; t < part.token + part.tokens; ++t) {
          float* row = context.gate() + t * width + part.row;
          Activation(context.block.gate, row, row, part.rows);
        }
      });
    });
    return;
  }
  const Range rows = context.worker.Share(width, context.row_unit());
  const bool gated = static_cast<bool>(layer.w_gate);
  context.Time(OpKind::kMatMul, OpSite::kGateUp, [&] {
    if (gated) MultiplyRows(context, ProductOf(layer.w_gate, context.gate()), rows, pack, /*accumulate=*/false);
    MultiplyRows(context, ProductOf(layer.w_up, gated ? context.up() : context.gate()), rows, pack, false);
  });
  context.Time(OpKind::kActivation, OpSite::kGateUp, [&] {
    for (size_t t = 0; t < context.n; ++t) {
      float* gate = context.gate() + t * width + rows.begin;
      const float* up = context.up() + t * width + rows.begin;
      if (gated)
        GatedActivation(context.block.gate, gate, up, gate, rows.size());
      else
        Activation(context.block.gate, gate, gate, rows.size());
    }
  });
}

bool RunStep(const ModelParts& model, const Step& step, StepBuffers& buffers, const KvCache& cache, Team& team,
             int threads) {
  std::atomic<bool> cancelled{false};
  if (!step.batch.empty()) std::fill_n(buffers.tickets, model.config.n_layers * kTicketStages, size_t{0});
  team.Run(threads, [&](Worker& worker) {
    StepContext context{model.config,
                        model.block,
                        model.weights,
                        step,
                        buffers,
                        buffers.OfThread(worker.thread()),
                        cache,
                        worker,
                        OpTimer(step.observer, worker.thread()),
                        step.tokens.size()};
    RunThread(context, cancelled);
  });
  return !cancelled.load(std::memory_order_relaxed);
}

}  // namespace prenorm
