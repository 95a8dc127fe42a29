// The weights of a model, by the names of the papers, and how its blocks are put together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "prenorm/matmul.h"
#include "prenorm/ops.h"

namespace prenorm {

/// A linear map y = W x + b. The bias is empty where the file has none.
struct Linear {
  WeightMatrix w{};               // [out, in]; no rows: the block has no such map
  std::vector<float> bias;        // [out]
  const float* panels = nullptr;  // PackPanels of w, where a model reads whole texts only; null: none
  explicit operator bool() const { return w.rows != 0; }
};

/// What a norm multiplies with and adds. Without a gain there is no norm at this place.
struct NormWeights {
  std::vector<float> gain;  // [width], the factor itself, whatever the file holds
  std::vector<float> bias;  // [width], LayerNorm only; empty: none
  explicit operator bool() const { return !gain.empty(); }
};

/// One feed-forward network of a mixture.
struct Expert {
  WeightMatrix w_gate;  // [expert_ffn_dim, dim]
  WeightMatrix w_up;    // [expert_ffn_dim, dim]
  WeightMatrix w_down;  // [dim, expert_ffn_dim]
};

/// One block. What a family does not have stays empty.
struct LayerWeights {
  NormWeights attn_norm;             // [dim]
  Linear wq;                         // [n_heads * head_dim, dim]
  Linear wk;                         // [n_kv_heads * head_dim, dim]
  Linear wv;                         // [n_kv_heads * head_dim, dim]
  NormWeights q_norm;                // see QkNorm
  NormWeights k_norm;                // see QkNorm
  Linear wo;                         // [dim, n_heads * head_dim]
  NormWeights post_attn_norm;        // [dim], behind the branch; see NormBehind
  NormWeights ffn_norm;              // [dim]
  Linear w_gate;                     // [ffn_dim or shared_ffn_dim, dim]; none: the activation alone, without a gate
  Linear w_up;                       // [ffn_dim, dim]
  Linear w_down;                     // [dim, ffn_dim]
  WeightMatrix router{};             // [n_experts, dim]
  std::vector<Expert> experts;       // [n_experts]; w_gate, w_up, w_down are then the shared expert, if there is one
  std::vector<float> shared_gate{};  // [dim], the shared expert's weight is the sigmoid of its product; empty: 1
  NormWeights post_ffn_norm;         // [dim], likewise
  std::vector<float> attn_scale{};   // [1] (SkipInit, Fixup) or [dim] (LayerScale), factor of the branch; empty: 1
  std::vector<float> ffn_scale{};    // likewise
};

struct ModelWeights {
  WeightMatrix token_embd{};     // [vocab_size, dim]
  WeightMatrix position_embd{};  // [max_seq_len, dim], learned positions; no rows: none
  WeightMatrix token_types{};    // [kinds of segments, dim], of which texts alone are the first; no rows: none
  NormWeights embd_norm;         // [dim], of the sum of the embeddings (BERT)
  std::vector<LayerWeights> layers;
  NormWeights final_norm;  // [dim]
  WeightMatrix output{};   // [vocab_size, dim]; the same bytes as token_embd when tied; no rows: an encoder

  /// Calls f(WeightMatrix&) for every matrix, those without rows too.
  template <typename F>
  void ForEachMatrix(const F& f) {
    f(token_embd);
    f(position_embd);
    f(token_types);
    f(output);
    for (LayerWeights& layer : layers) {
      for (Linear* linear : {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_gate, &layer.w_up, &layer.w_down}) {
        f(linear->w);
      }
      f(layer.router);
      for (Expert& expert : layer.experts) {
        f(expert.w_gate);
        f(expert.w_up);
        f(expert.w_down);
      }
    }
  }
};

enum class NormKind { kRms, kLayer };

/// What a norm behind a branch normalizes.
enum class NormBehind {
  kBranch,  ///< x + norm(f): a sandwich together with the norm before the branch (Gemma 2), or alone (OLMo 2).
  kSum,     ///< norm(x + f): post-LN (Vaswani et al. 2017, BERT). The norm's output is the residual stream.
};

/// What q_norm and k_norm normalize.
enum class QkNorm {
  kNone,
  kHeads,  ///< Each head by itself; gain [head_dim], or [heads * head_dim] where each head has its own (Qwen3, Gemma
           ///< 3).
  kRows,   ///< All heads of a token together; gain [heads * head_dim] (OLMo 2).
};

/// Rotary frequencies of some layers.
struct RopeTable {
  std::vector<float> inv_freq;  // [rope_dim / 2], radians a token; scaling of long contexts included
  float magnitude = 1.0f;       // Factor of cos and sin
  std::vector<float>
      long_inv_freq{};  // [rope_dim / 2], of sessions with room for more than `original` tokens; empty: none
  size_t original = 0;  // Tokens of the context before it was extended, where long_inv_freq is not empty

  const std::vector<float>& Of(size_t capacity) const {
    return long_inv_freq.empty() || capacity <= original ? inv_freq : long_inv_freq;
  }
};

inline constexpr size_t kNoRope = static_cast<size_t>(-1);

/// What differs between the blocks of one model.
struct LayerSpec {
  size_t window = 0;  // Keys that a position sees, itself included; 0: all
  size_t rope = 0;    // Index in BlockSpec::ropes, or kNoRope
};

/// What a family says of its blocks beyond the sizes in ModelConfig. The defaults are those of Llama:
///   h = x + Wo Attention(RoPE(Wq n), RoPE(Wk n), Wv n), n = norm(x);  x = h + Wdown (gate(Wgate m) * Wup m), m =
///   norm(h).
struct BlockSpec {
  NormKind norm = NormKind::kRms;
  NormBehind norm_behind = NormBehind::kBranch;
  QkNorm qk_norm = QkNorm::kNone;
  bool bidirectional = false;  // A position sees the whole text (encoders)
  bool parallel = false;       // Both branches see norm(x) of the block's input (Cohere)
  Gate gate = Gate::kSilu;
  RopePairs rope_pairs = RopePairs::kNeighbours;
  std::vector<RopeTable> ropes;   // None where positions are learned
  std::vector<LayerSpec> layers;  // [n_layers]

  float embedding_scale = 1.0f;
  float attention_scale = 0.0f;     // Factor of the scores, 1 / sqrt(head_dim) but for families that say otherwise
  float attention_soft_cap = 0.0f;  // Of the scores; 0: none
  float residual_scale = 1.0f;      // Factor of each branch before it is added
  float stream_scale = 1.0f;        // Factor of x where a branch is added: DeepNorm's alpha
  float logit_scale = 1.0f;
  float logit_soft_cap = 0.0f;  // After the scale; 0: none

  size_t n_experts = 0;  // 0: no mixture
  size_t n_experts_used = 0;
  size_t expert_ffn_dim = 0;
  size_t shared_ffn_dim = 0;             // 0: no shared expert
  bool normalize_expert_weights = true;  // The weights of the chosen experts sum to 1
};

}  // namespace prenorm
