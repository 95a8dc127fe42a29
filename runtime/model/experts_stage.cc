// The feed-forward stage of a mixture of experts (Shazeer et al. 2017; Jiang et al. 2024): a router chooses a few
// networks for each token, and their outputs are summed by its weights.
//
// The weight of an expert is applied to the input of its last product, where a row is shorter work than behind it.
// Experts are taken in ascending order, each with all tokens that chose it, a few at a time. A token's outputs are
// added in that order whatever the others chose, so its bits do not depend on them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "prenorm/deferred_norm.h"
#include "prenorm/matmul_panels.h"
#include "prenorm/norm.h"
#include "prenorm/ops.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

struct Choice {
  const StepContext& context;
  size_t used;
  uint32_t* ids(size_t t) const { return context.buffers.expert_ids + t * used; }
  float* weights(size_t t) const { return context.buffers.expert_weights + t * used; }
};

// Softmax over all experts, the largest few of it, and their weights made to sum to 1 where the family says so.
void Choose(const Choice& choice, size_t t) {
  const BlockSpec& block = choice.context.block;
  float* shares = choice.context.buffers.router + t * block.n_experts;
  uint32_t* ids = choice.ids(t);
  float* weights = choice.weights(t);
  Softmax(shares, block.n_experts, 1, block.n_experts);
  float sum = 0.0f;
  for (size_t i = 0; i < choice.used; ++i) {
    const size_t best = ArgMax(shares, block.n_experts);
    ids[i] = static_cast<uint32_t>(best);
    sum += shares[best];
    shares[best] *= -1.0f;  // Chosen: below all others, and its value is kept for the order below.
    if (shares[best] == 0.0f) shares[best] = -1e-30f;
  }
  std::sort(ids, ids + choice.used);
  const float factor = block.normalize_expert_weights ? 1.0f / sum : 1.0f;
  for (size_t i = 0; i < choice.used; ++i) weights[i] = -shares[ids[i]] * factor;
}

void Route(StepContext& context, const Product& router, const Choice& choice, const StepBuffers::Packed& pack) {
  Multiply(context, OpSite::kGateUp, std::span(&router, 1), pack, /*accumulate=*/false);
  context.Wait(OpSite::kGateUp);
  context.Time(OpKind::kActivation, OpSite::kGateUp, [&] {
    const Range tokens = context.worker.Share(context.n);
    for (size_t t = tokens.begin; t < tokens.end; ++t) Choose(choice, t);
  });
  context.Wait(OpSite::kGateUp);
}

// Some of the tokens that chose one expert.
struct Batch {
  size_t size = 0;
  size_t first_row = 0;  // Of gate and up, whose rows are in the order of the batches.
  std::array<size_t, kExpertTokens> tokens{};
  std::array<float, kExpertTokens> weights{};
};

// Calls op(expert, batch) for all batches, expert by expert.
template <typename Op>
void ForEachBatch(const Choice& choice, const LayerWeights& layer, const Op& op) {
  Batch batch;
  const auto finish = [&](const Expert& expert) {
    if (batch.size != 0) op(expert, batch);
    batch.first_row += batch.size;
    batch.size = 0;
  };
  for (size_t e = 0; e < layer.experts.size(); ++e) {
    for (size_t t = 0; t < choice.context.n; ++t) {
      const uint32_t* ids = choice.ids(t);
      const uint32_t* found = std::find(ids, ids + choice.used, static_cast<uint32_t>(e));
      if (found == ids + choice.used) continue;
      batch.tokens[batch.size] = t;
      batch.weights[batch.size] = choice.weights(t)[found - ids];
      if (++batch.size == kExpertTokens) finish(layer.experts[e]);
    }
    finish(layer.experts[e]);
  }
}

// `rows` of w times the first `n` rows in this thread's own pack.
void MultiplyOwn(const StepContext& context, const WeightMatrix& w, Range rows, size_t n, float* out) {
  const void* input = context.own.pack.of(ActivationFormatOf(w.type));
  if (rows.size() != 0)
    MatMul(w, rows.begin, rows.end, input, n, out, w.rows, /*accumulate=*/false, context.own.matmul);
}

// This thread's rows of act(Wgate m) * Wup m, times the expert's weight, for the tokens of a batch.
void GateUpOfBatch(StepContext& context, const Expert& expert, const Batch& batch, Range rows,
                   std::span<const Product> inputs) {
  const size_t dim = context.config.dim, width = context.block.expert_ffn_dim;
  if (!context.norm_row_is_own()) {  // Else the row is in own.pack from the norm.
    for (size_t i = 0; i < batch.size; ++i) {
      std::memcpy(context.own.expert_rows + i * dim, context.buffers.normed + batch.tokens[i] * dim,
                  dim * sizeof(float));
    }
    PackRows(context.own.expert_rows, dim, {0, batch.size}, batch.size, inputs, context.own.pack);
  }
  float* gate = context.buffers.gate + batch.first_row * width;
  float* up = context.buffers.up + batch.first_row * width;
  MultiplyOwn(context, expert.w_gate, rows, batch.size, gate);
  MultiplyOwn(context, expert.w_up, rows, batch.size, up);
  for (size_t i = 0; i < batch.size; ++i) {
    float* mine = gate + i * width + rows.begin;
    GatedActivation(context.block.gate, mine, up + i * width + rows.begin, mine, rows.size());
    ScaleInPlace(mine, batch.weights[i], rows.size());
  }
}

// x += this thread's rows of Wdown times what GateUpOfBatch has made.
void AddDownOfBatch(StepContext& context, const Expert& expert, const Batch& batch, Range rows) {
  const size_t dim = context.config.dim, width = context.block.expert_ffn_dim;
  const std::vector<float> no_bias;
  const Product down[] = {{&expert.w_down, &no_bias, nullptr, 0}};
  PackRows(context.buffers.gate + batch.first_row * width, width, {0, batch.size}, batch.size, down, context.own.pack);
  MultiplyOwn(context, expert.w_down, rows, batch.size, context.own.expert_rows);
  for (size_t i = 0; i < batch.size; ++i) {
    AddInPlace(context.x() + batch.tokens[i] * dim + rows.begin, context.own.expert_rows + i * dim + rows.begin,
               rows.size());
  }
}

// The sigmoid of gate times row.
float SharedWeight(const std::vector<float>& gate, const float* row) {
  constexpr size_t kSums = 8;
  std::array<float, kSums> sums{};
  size_t i = 0;
  for (; i + kSums <= gate.size(); i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += gate[i + j] * row[i + j];
  }
  for (; i < gate.size(); ++i) sums[0] += gate[i] * row[i];
  float sum = 0.0f;
  for (const float part : sums) sum += part;
  return 1.0f / (1.0f + std::exp(-sum));
}

// The expert that every token takes besides (Dai et al. 2024), after the others: the norm's rows are still there.
void AddSharedExpert(StepContext& context, const LayerWeights& layer) {
  const size_t dim = context.config.dim, width = layer.w_up.w.rows;
  const float* normed = context.norm_row_is_own() ? context.own.row : context.buffers.normed;
  const Product inputs[] = {ProductOf(layer.w_gate, context.gate()), ProductOf(layer.w_up, context.up())};
  GateUp(context, layer, PackInput(context, OpSite::kGateUp, normed, dim, inputs));
  const Range rows = context.worker.Share(width, context.row_unit());  // GateUp's own, so no barrier lies between.
  for (size_t t = 0; t < context.n && !layer.shared_gate.empty(); ++t) {
    ScaleInPlace(context.gate() + t * width + rows.begin, SharedWeight(layer.shared_gate, normed + t * dim),
                 rows.size());
  }
  context.Wait(OpSite::kGateUp);
  AddBranch(context, OpSite::kDown, context.gate(), width, layer.w_down,
            {OpSite::kPostFfnNorm, NormWeights{}, std::vector<float>{}});
}

}  // namespace

void MixExperts(StepContext& context, const LayerWeights& layer) {
  const std::vector<float> no_bias;
  const Choice choice{context, context.block.n_experts_used};
  const Product inputs[] = {{&layer.router, &no_bias, context.buffers.router, context.block.n_experts},
                            {&layer.experts[0].w_gate, &no_bias, nullptr, 0},
                            {&layer.experts[0].w_up, &no_bias, nullptr, 0}};
  const StepBuffers::Packed pack = NormAndPack(context, OpSite::kFfnNorm, layer.ffn_norm, inputs);
  Route(context, inputs[0], choice, pack);
  context.Tap(TapPoint::kRouter, context.buffers.router, context.block.n_experts);

  const Range rows = context.worker.Share(context.block.expert_ffn_dim, RowGroup());
  context.Time(OpKind::kMatMul, OpSite::kGateUp, [&] {
    ForEachBatch(choice, layer, [&](const Expert& expert, const Batch& batch) {
      GateUpOfBatch(context, expert, batch, rows, std::span(inputs).subspan(1));
    });
  });
  context.Wait(OpSite::kGateUp);
  const Range out_rows = context.worker.Share(context.config.dim, kSquaresBlock);
  context.Time(OpKind::kMatMul, OpSite::kDown, [&] {
    ForEachBatch(choice, layer,
                 [&](const Expert& expert, const Batch& batch) { AddDownOfBatch(context, expert, batch, out_rows); });
  });
  const bool last = context.layer_index + 1 == context.config.n_layers;
  SumSquaresOfX(context, last ? OpSite::kFinalNorm : OpSite::kAttnNorm, out_rows);
  context.Wait(OpSite::kDown);
  if (layer.w_up) AddSharedExpert(context, layer);
}

}  // namespace prenorm
