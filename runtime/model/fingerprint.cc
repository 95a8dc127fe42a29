// Sizes, norms and a few rows.
#include "runtime/model/fingerprint.h"

#include <vector>

#include "runtime/hash64.h"

namespace prenorm {
namespace {

void AddMatrix(const WeightMatrix& w, std::vector<float>& row, Hash64& hash) {
  hash.Add(w.rows);
  if (w.rows == 0) return;
  hash.Add(w.cols);
  hash.Add(static_cast<uint64_t>(w.type));
  row.resize(w.cols);
  for (const size_t r : {size_t{0}, w.rows / 2}) {
    DequantizeWeightRow(w, r, row.data());
    hash.Add(row.data(), row.size() * sizeof(float));
  }
}

}  // namespace

uint64_t ModelFingerprint(const ModelParts& model) {
  Hash64 hash;
  const ModelConfig& c = model.config;
  hash.Add(c.architecture.data(), c.architecture.size());
  for (const size_t size :
       {c.dim, c.ffn_dim, c.n_layers, c.n_heads, c.n_kv_heads, c.head_dim, c.vocab_size, c.rope_dim}) {
    hash.Add(size);
  }
  std::vector<float> row;
  const ModelWeights& weights = model.weights;
  for (const WeightMatrix* w : {&weights.token_embd, &weights.position_embd, &weights.output}) AddMatrix(*w, row, hash);
  hash.Add(weights.final_norm.gain);
  for (const LayerWeights& layer : weights.layers) {
    for (const NormWeights* norm : {&layer.attn_norm, &layer.q_norm, &layer.k_norm, &layer.post_attn_norm,
                                    &layer.ffn_norm, &layer.post_ffn_norm}) {
      hash.Add(norm->gain);
      hash.Add(norm->bias);
    }
    for (const Linear* linear :
         {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_gate, &layer.w_up, &layer.w_down}) {
      AddMatrix(linear->w, row, hash);
      hash.Add(linear->bias);
    }
    AddMatrix(layer.router, row, hash);
    for (const Expert& expert : layer.experts) {
      for (const WeightMatrix* w : {&expert.w_gate, &expert.w_up, &expert.w_down}) AddMatrix(*w, row, hash);
    }
  }
  return hash.value();
}

}  // namespace prenorm
