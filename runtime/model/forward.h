// One forward step of a model.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

#include "prenorm/norm_experiment.h"
#include "prenorm/profile.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/parts.h"
#include "runtime/model/step_buffers.h"
#include "runtime/parallel/team.h"

namespace prenorm {

/// Points of a step where its rows can be looked at.
enum class TapPoint {
  kEmbedding,   ///< x [n, dim] before the first layer.
  kQuery,       ///< [n, n_heads * head_dim], before norms and positions.
  kKey,         ///< [n, n_kv_heads * head_dim], likewise.
  kValue,       ///< [n, n_kv_heads * head_dim].
  kAttention,   ///< [n, n_heads * head_dim].
  kAttnOutput,  ///< x with the attention branch added.
  kRouter,      ///< [n, n_experts], shares of the experts, those of the chosen ones negative.
  kGate,        ///< [n, ffn_dim], the input of the down product; not of a mixture.
  kDown,        ///< x with the feed-forward branch added.
};

/// Looks at a step, for whoever compares it with another computation.
class StepTap {
 public:
  virtual ~StepTap() = default;
  /// `rows` [n, width], on one thread while the others wait. `layer` is n_layers for the embedding.
  virtual void Record(TapPoint point, size_t layer, const float* rows, size_t n, size_t width) = 0;
};

/// Consecutive tokens of one sequence of a batch whose attention one thread computes together.
struct SequenceTile {
  size_t first;     ///< Row of the first in the step.
  size_t count;     ///< At most kAttentionTokens.
  size_t position;  ///< Of the first in its sequence.
  size_t length;    ///< Tokens of the sequence.
  size_t place;     ///< Of the sequence's position 0 in the cache, a multiple of kKeyBlock.
};

/// What one step evaluates and where its results go.
struct Step {
  std::span<const TokenId> tokens;  ///< At most the chunk of `buffers`; ids checked.
  size_t position = 0;              ///< Of tokens[0]; position + tokens.size() fits the cache.
  /// Of a batch of whole sequences, one behind the other: all tokens in order. Its cache has one layer, which every
  /// layer writes anew, and its result are the rows behind the final norm, see HiddenRows. Empty: one sequence, which
  /// goes on behind what the cache holds.
  std::span<const SequenceTile> batch;
  bool wants_logits = true;     ///< Of the last token, into buffers.logits.
  float* all_logits = nullptr;  ///< [tokens.size(), vocab_size], or null.
  bool deferred_norm = false;   ///< See SessionOptions::Norm; only where the block's norm is RMSNorm.
  const std::atomic<bool>* cancel = nullptr;
  const std::function<bool(size_t)>* on_layer = nullptr;  ///< Thread 0 calls it before each layer; false cancels.
  OpObserver* observer = nullptr;
  StepTap* tap = nullptr;
  const NormExperiment* norms = nullptr;  ///< Null: as the engine does.
};

/// Evaluates `step` on every thread of `team`. Returns false if it was cancelled: the cache then holds keys and values
/// of some layers at step.position and beyond, and nothing before it has changed.
/// `threads`: of the team, how many take part.
bool RunStep(const ModelParts& model, const Step& step, StepBuffers& buffers, const KvCache& cache, Team& team,
             int threads);

/// Where a batch's result is, [n, dim]: the rows of the residual stream or, where there is one, behind the final norm.
inline float* HiddenRows(const ModelParts& model, const StepBuffers& buffers) {
  return model.weights.final_norm ? buffers.normed : buffers.x;
}

}  // namespace prenorm
