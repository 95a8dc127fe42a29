// The feed-forward stage of a mixture of experts (Shazeer et al. 2017; Jiang et al. 2024): a router chooses a few networks
// for each token, and their outputs are summed by its weights.
//
// The weight of an expert is applied to the input of its last product, where a row is shorter work than behind it.
// Tokens are multiplied one by one and experts in ascending order, so that a token's bits do not depend on the others; the
// loop over experts is the outer one, because one expert's rows then stay in cache for all tokens that chose it.
#include <algorithm>
#include <cmath>
#include <numeric>

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
  float* gate(size_t t, size_t i) const {
    return context.buffers.gate + (t * used + i) * context.block.expert_ffn_dim;
  }
  float* up(size_t t, size_t i) const { return context.buffers.up + (t * used + i) * context.block.expert_ffn_dim; }
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

void Route(StepContext& context, const Product& router, const Choice& choice, const StepBuffers::Pack& pack) {
  Multiply(context, OpSite::kGateUp, std::span(&router, 1), pack, /*accumulate=*/false);
  context.Wait(OpSite::kGateUp);
  context.Time(OpKind::kActivation, OpSite::kGateUp, [&] {
    const Range tokens = context.worker.Share(context.n);
    for (size_t t = tokens.begin; t < tokens.end; ++t) Choose(choice, t);
  });
  context.Wait(OpSite::kGateUp);
}

// Calls op(t, i, expert) for each choice i of each token t, expert by expert.
template <typename Op>
void ForEachChoice(const Choice& choice, const LayerWeights& layer, const Op& op) {
  for (size_t e = 0; e < layer.experts.size(); ++e) {
    for (size_t t = 0; t < choice.context.n; ++t) {
      const uint32_t* ids = choice.ids(t);
      const uint32_t* found = std::find(ids, ids + choice.used, static_cast<uint32_t>(e));
      if (found != ids + choice.used) op(t, static_cast<size_t>(found - ids), layer.experts[e]);
    }
  }
}

// One row of one token: `rows` of w times the row in this thread's own pack.
void MultiplyOwn(const StepContext& context, const WeightMatrix& w, Range rows, float* out, bool accumulate) {
  const void* input = context.own.pack.of(ActivationFormatOf(w.type));
  MatMul(w, rows.begin, rows.end, input, 1, out, w.rows, accumulate);
}

}  // namespace

void MixExperts(StepContext& context, const LayerWeights& layer) {
  const size_t dim = context.config.dim, width = context.block.expert_ffn_dim;
  const std::vector<float> no_bias;
  const Choice choice{context, context.block.n_experts_used};
  const Product inputs[] = {{&layer.router, &no_bias, context.buffers.router, context.block.n_experts},
                            {&layer.experts[0].w_gate, &no_bias, nullptr, 0},
                            {&layer.experts[0].w_up, &no_bias, nullptr, 0}};
  const StepBuffers::Pack pack = NormAndPack(context, OpSite::kFfnNorm, layer.ffn_norm, inputs);
  Route(context, inputs[0], choice, pack);

  const Range rows = context.worker.Share(width, RowGroup());
  context.Time(OpKind::kMatMul, OpSite::kGateUp, [&] {
    ForEachChoice(choice, layer, [&](size_t t, size_t i, const Expert& expert) {
      if (context.n > 1) {  // A single token's row is in own.pack from the norm.
        PackRows(context.buffers.normed + t * dim, dim, {0, 1}, 1, std::span(inputs).subspan(1), context.own.pack);
      }
      float* gate = choice.gate(t, i);
      MultiplyOwn(context, expert.w_gate, rows, gate, /*accumulate=*/false);
      MultiplyOwn(context, expert.w_up, rows, choice.up(t, i), /*accumulate=*/false);
      GatedActivation(context.block.gate, gate + rows.begin, choice.up(t, i) + rows.begin, gate + rows.begin, rows.size());
      ScaleInPlace(gate + rows.begin, choice.weights(t)[i], rows.size());
    });
  });
  context.Wait(OpSite::kGateUp);

  const Range out_rows = context.worker.Share(dim, RowGroup());
  context.Time(OpKind::kMatMul, OpSite::kDown, [&] {
    ForEachChoice(choice, layer, [&](size_t t, size_t i, const Expert& expert) {
      const Product down[] = {{&expert.w_down, &no_bias, nullptr, 0}};
      PackRows(choice.gate(t, i), width, {0, 1}, 1, down, context.own.pack);
      MultiplyOwn(context, expert.w_down, out_rows, context.x() + t * dim, /*accumulate=*/true);
    });
  });
  context.Wait(OpSite::kDown);
}

}  // namespace prenorm
