// The decoder, step by step, as one thread of the team sees it (Touvron et al. 2023, section 2.2):
//
//   h = x + Wo Attention(RoPE(Wq n), RoPE(Wk n), Wv n),   n = RMSNorm(x)
//   x = h + Wdown (act(Wgate m) * Wup m),                 m = RMSNorm(h)
//
// Every thread computes a fixed share of each product's rows. A single token's normalized row is cheap, so each thread
// makes its own copy and the barrier behind the norm disappears; the rows of a prompt's tokens are shared out instead.
#include "runtime/model/forward.h"

#include <cstring>

#include "prenorm/ops.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

void Embed(StepContext& context) {
  context.Time(OpKind::kEmbedding, OpSite::kEmbed, [&] {
    const Range mine = context.worker.Share(context.n);
    for (size_t t = mine.begin; t < mine.end; ++t) {
      const auto id = static_cast<size_t>(context.step.tokens[t]);
      DequantizeWeightRow(context.weights.token_embd, id, context.buffers.x + t * context.config.dim);
      RopeAngles(context.block.inv_freq.data(), context.block.inv_freq.size(), context.step.position + t,
                 context.block.rope_magnitude, context.cos(t), context.sin(t));
    }
  });
  context.Wait(OpSite::kEmbed);
}

void Qkv(StepContext& context, const LayerWeights& layer) {
  const Product products[] = {ProductOf(layer.wq, context.buffers.q), ProductOf(layer.wk, context.buffers.k),
                              ProductOf(layer.wv, context.buffers.v)};
  const StepBuffers::Pack pack = NormAndPack(context, OpSite::kAttnNorm, layer.attn_norm, products);
  Multiply(context, OpSite::kQkv, products, pack, /*accumulate=*/false);
  context.Wait(OpSite::kQkv);
}

void FeedForward(StepContext& context, const LayerWeights& layer) {
  const size_t ffn_dim = context.config.ffn_dim;
  const Product products[] = {ProductOf(layer.w_gate, context.buffers.gate), ProductOf(layer.w_up, context.buffers.up)};
  const StepBuffers::Pack pack = NormAndPack(context, OpSite::kFfnNorm, layer.ffn_norm, products);
  // Both matrices by the same rows, so that each thread can apply the gate to its own before the barrier.
  const Range rows = context.worker.Share(ffn_dim, RowGroup());
  context.Time(OpKind::kMatMul, OpSite::kGateUp, [&] {
    for (const Product& product : products) MultiplyRows(context, product, rows, pack, /*accumulate=*/false);
  });
  context.Time(OpKind::kActivation, OpSite::kGateUp, [&] {
    for (size_t t = 0; t < context.n; ++t) {
      float* gate = context.buffers.gate + t * ffn_dim + rows.begin;
      const float* up = context.buffers.up + t * ffn_dim + rows.begin;
      GatedActivation(context.block.gate, gate, up, gate, rows.size());
    }
  });
  context.Wait(OpSite::kGateUp);
  AddProduct(context, OpSite::kDown, context.buffers.gate, ffn_dim, layer.w_down);
}

// Of all tokens in work, into step.all_logits or the session's own row.
void Logits(StepContext& context) {
  const std::vector<float> no_bias;
  const size_t vocab_size = context.config.vocab_size;
  float* out = context.step.all_logits != nullptr ? context.step.all_logits : context.buffers.logits;
  const Product products[] = {{&context.weights.output, &no_bias, out, vocab_size}};
  const StepBuffers::Pack pack = NormAndPack(context, OpSite::kFinalNorm, context.weights.final_norm, products);
  Multiply(context, OpSite::kOutput, products, pack, /*accumulate=*/false);
  if (context.step.all_logits == nullptr) return;
  context.Wait(OpSite::kOutput);
  if (context.worker.thread() == 0) {
    std::memcpy(context.buffers.logits, out + (context.n - 1) * vocab_size, vocab_size * sizeof(float));
  }
}

// True once thread 0 has seen the cancel flag; all threads agree because a barrier lies between.
bool CancelledAfterQkv(StepContext& context, const LayerWeights& layer, std::atomic<bool>& cancelled) {
  const std::atomic<bool>* flag = context.step.cancel;
  if (context.worker.thread() == 0 && flag != nullptr && flag->load(std::memory_order_relaxed)) {
    cancelled.store(true, std::memory_order_relaxed);
  }
  Qkv(context, layer);
  return cancelled.load(std::memory_order_relaxed);
}

void RunThread(StepContext& context, std::atomic<bool>& cancelled) {
  const size_t n_layers = context.config.n_layers;
  context.layer_index = n_layers;
  Embed(context);
  for (context.layer_index = 0; context.layer_index < n_layers; ++context.layer_index) {
    const LayerWeights& layer = context.weights.layers[context.layer_index];
    if (CancelledAfterQkv(context, layer, cancelled)) return;
    RotateAndStore(context);
    if (context.layer_index + 1 == n_layers && context.step.all_logits == nullptr) {
      // Behind the last layer's keys and values only the last token matters, if any.
      if (!context.step.wants_logits) return;
      context.first = context.n - 1;
      context.n = 1;
    }
    AddProduct(context, OpSite::kAttnOutput, Attend(context), context.q_dim(), layer.wo);
    FeedForward(context, layer);
  }
  Logits(context);
}

}  // namespace

bool RunStep(const ModelParts& model, const Step& step, StepBuffers& buffers, const KvCache& cache, Team& team) {
  std::atomic<bool> cancelled{false};
  team.Run([&](Worker& worker) {
    StepContext context{model.config, model.block, model.weights, step, buffers, buffers.OfThread(worker.thread()),
                        cache, worker, OpTimer(step.observer, worker.thread()), step.tokens.size()};
    RunThread(context, cancelled);
  });
  return !cancelled.load(std::memory_order_relaxed);
}

}  // namespace prenorm
