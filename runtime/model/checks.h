// What sessions and encoders check alike: their options, tokens, that target and files of the model are those it was
// loaded with, and that numbers came of a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "runtime/limits.h"
#include "runtime/model/parts.h"

namespace prenorm {

inline Status CheckThreadCount(int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return {};
  return {StatusCode::kInvalidArgument, "The number of threads is out of range.\nthreads: expected 0 to " +
                                            std::to_string(kMaxThreads) + ", found " + std::to_string(threads) +
                                            "\n0 takes as many as the machine grants."};
}

/// Of tokens that are evaluated together. `what` and `option` name the size, `usual` is its default.
inline Status CheckStepSize(const std::string& what, const std::string& option, size_t size, size_t usual) {
  if (size != 0 && size <= kMaxChunk) return {};
  return {StatusCode::kInvalidArgument, "The size of a " + what + " is out of range.\n" + option + ": expected 1 to " +
                                            std::to_string(kMaxChunk) + " tokens, found " + std::to_string(size) +
                                            "\nThe default, " + std::to_string(usual) + ", is a good choice."};
}

/// `where` stands in front of the id in the message.
inline Status CheckTokens(std::span<const TokenId> tokens, size_t vocab_size, const std::string& where = "") {
  for (const TokenId id : tokens) {
    if (id >= 0 && static_cast<size_t>(id) < vocab_size) continue;
    return {StatusCode::kInvalidArgument, "A token is not of this model.\n" + where + "token id " + std::to_string(id) +
                                              ": expected 0 to " + std::to_string(vocab_size - 1) +
                                              "\nMake the ids with the model's own tokenizer."};
  }
  return {};
}

/// Before a step: to another target the interleaved weights are noise.
inline Status CheckTarget(const ModelParts& parts) {
  const std::string_view active = ActiveTarget();
  if (parts.target == active) return {};
  return {StatusCode::kInvalidArgument, "The model was loaded for another SIMD target.\ntarget: expected " +
                                            std::string(parts.target) + ", found " + std::string(active) +
                                            "\nLoad the model after ForceTarget."};
}

/// Before a step, so that none begins on a file that was cut, and after it, so that none is believed that read one
/// which was changed meanwhile. Two system calls a step take less than a microsecond.
inline Status CheckFiles(const ModelParts& parts) {
  Status status = parts.source->CheckUnchanged();
  return status.ok() ? parts.prepared.CheckUnchanged() : status;
}

inline Status NoNumbers(const ModelParts& parts) {
  return {StatusCode::kBadModel,
          "the model computes no numbers\nin " + parts.source->path() +
              ": expected finite values, found NaN or infinities\n"
              "Its weights are damaged, or not those of its sizes: download or convert it again."};
}

/// Of the logits of a step: without a finite one none is likelier than another, and any text would be as good. The first
/// tells almost always, since a hidden state that is no number spreads to all of them.
inline Status CheckLogits(const ModelParts& parts, std::span<const float> logits) {
  const auto finite = [](float logit) { return std::isfinite(logit); };
  return logits.empty() || std::any_of(logits.begin(), logits.end(), finite) ? Status() : NoNumbers(parts);
}

inline Status CheckEmbedding(const ModelParts& parts, std::span<const float> values) {
  const auto finite = [](float value) { return std::isfinite(value); };
  return std::all_of(values.begin(), values.end(), finite) ? Status() : NoNumbers(parts);
}

}  // namespace prenorm
