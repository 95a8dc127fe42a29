// One forward step of a decoder.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "prenorm/profile.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/parts.h"
#include "runtime/model/step_buffers.h"
#include "runtime/parallel/team.h"

namespace prenorm {

/// What one step evaluates and where its results go.
struct Step {
  std::span<const TokenId> tokens;  ///< At most the chunk of `buffers`; ids checked.
  size_t position = 0;              ///< Of tokens[0]; position + tokens.size() fits the cache.
  bool wants_logits = true;         ///< Of the last token, into buffers.logits.
  float* all_logits = nullptr;      ///< [tokens.size(), vocab_size], or null.
  const std::atomic<bool>* cancel = nullptr;
  OpObserver* observer = nullptr;
};

/// Evaluates `step` on every thread of `team`. Returns false if it was cancelled: the cache then holds keys and values
/// of some layers at step.position and beyond, and nothing before it has changed.
bool RunStep(const ModelParts& model, const Step& step, StepBuffers& buffers, const KvCache& cache, Team& team);

}  // namespace prenorm
