// What a fuzzed model must stand once it has been built: a prompt, a step, and being stored; or a text,
// if it is an encoder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/session.h"

namespace prenorm {

inline void EmbedWith(std::shared_ptr<const Model> model) {
  const auto encoder = Encoder::Create(std::move(model), {.threads = 1});
  if (!encoder.ok()) return;
  const std::vector<std::vector<TokenId>> sequences = {{0, 1}, {1}};
  std::vector<float> out(sequences.size() * (*encoder)->dim());
  (void)(*encoder)->EmbedTokens(sequences, out.data()).ok();
}

inline void StepModel(const Result<std::shared_ptr<const Model>>& model) {
  if (!model.ok()) return;
  if ((*model)->is_encoder()) return EmbedWith(*model);
  const size_t context = std::min<size_t>((*model)->config().max_seq_len, 8);
  const auto session = Session::Create(*model, {.context = context, .threads = 1});
  if (!session.ok()) return;
  std::vector<float> logits(2 * (*model)->config().vocab_size);
  const TokenId prompt[] = {0, 1};
  if (!(*session)->Eval(prompt, logits.data()).ok()) return;
  (void)(*session)->Eval({prompt, 1}).ok();
  const auto stored = (*session)->Save();
  if (stored.ok() && !(*session)->Restore(*stored).ok()) __builtin_trap();
}

}  // namespace prenorm
