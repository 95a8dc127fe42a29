// The weights of a decoder, by the names of the papers, and how its blocks are put together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "prenorm/matmul.h"
#include "prenorm/ops.h"

namespace prenorm {

/// A linear map y = W x + b. The bias is empty where the file has none.
struct Linear {
  WeightMatrix w;           // [out, in]
  std::vector<float> bias;  // [out]
};

struct LayerWeights {
  std::vector<float> attn_norm;  // [dim], gain
  Linear wq;                     // [n_heads * head_dim, dim]
  Linear wk;                     // [n_kv_heads * head_dim, dim]
  Linear wv;                     // [n_kv_heads * head_dim, dim]
  Linear wo;                     // [dim, n_heads * head_dim]
  std::vector<float> ffn_norm;   // [dim], gain
  Linear w_gate;                 // [ffn_dim, dim]
  Linear w_up;                   // [ffn_dim, dim]
  Linear w_down;                 // [dim, ffn_dim]
};

struct ModelWeights {
  WeightMatrix token_embd;  // [vocab_size, dim]
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [dim], gain
  WeightMatrix output;            // [vocab_size, dim]; the same bytes as token_embd when tied
};

/// What a family says of its blocks beyond the sizes in ModelConfig.
struct BlockSpec {
  RopePairs rope_pairs = RopePairs::kNeighbours;
  Gate gate = Gate::kSilu;
  std::vector<float> inv_freq;  // [rope_dim / 2], radians a token; scaling of long contexts included
  float rope_magnitude = 1.0f;  // Factor of cos and sin
  float attention_scale = 0.0f; // Factor of the scores, 1 / sqrt(head_dim) but for families that say otherwise
  size_t window = 0;            // Keys that a position sees, itself included; 0: all
};

}  // namespace prenorm
