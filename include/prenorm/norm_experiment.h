// Other norms in the engine's place, and other places for them: what `prenorm profile` compares.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/profile.h"

namespace prenorm {

/// One call of a norm: `rows` rows of `cols` elements, one after the other.
struct NormCall {
  OpSite site;
  int32_t layer;      ///< -1 outside the layers.
  int32_t thread;     ///< 0 … threads - 1.
  bool layer_norm;    ///< The model's kind: LayerNorm, else RMSNorm.
  const float* gain;  ///< [cols]
  const float* bias;  ///< [cols], or null.
  float eps;
  const float* x;  ///< [rows, cols]
  float* out;      ///< [rows, cols]; may be x.
  size_t rows;
  size_t cols;
};

/// Normalizes in the engine's place. Called on every thread of the team without a lock.
class NormStandIn {
 public:
  virtual ~NormStandIn() = default;
  virtual void Normalize(const NormCall& call) = 0;
  /// Whether gains and biases are used: the engine fetches those of a single token ahead.
  virtual bool reads_weights() const { return true; }
};

/// Where norms in front of products are computed. Those of a prompt always are shared out by rows, with a barrier
/// behind them, and differ only under kApart. Norms of heads and of branches stay where the engine has them.
enum class NormPlacement {
  kEngine,     ///< As the engine does without an experiment; with a stand-in kRedundant.
  kRedundant,  ///< Of a single token by every thread for itself, with the packing for the next product; no barrier.
  kStage,      ///< Of a single token by one thread, and the others wait; each thread packs for itself then.
  kApart,      ///< As kStage, and nothing is fused: residual sums and a prompt's packing are stages with barriers too.
};

/// What a session runs with from set_norm_experiment on. kRedundant and kStage without a stand-in give the same bits;
/// kApart rounds residual sums once more.
struct NormExperiment {
  NormPlacement placement = NormPlacement::kEngine;
  NormStandIn* stand_in = nullptr;  ///< Null: the engine's own kernels. Not owned.
};

}  // namespace prenorm
