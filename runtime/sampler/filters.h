// From logits to the tokens that may be drawn: temperature, top-k, top-p, min-p, typical.
#pragma once

#include <span>
#include <vector>

#include "prenorm/generate.h"

namespace prenorm {

/// A token that may still be drawn.
struct Candidate {
  float score;   ///< (logit - highest logit) / temperature, so <= 0.
  float weight;  ///< e^score: the probability but for a common factor.
  TokenId id;
};

/// Work space of FilterLogits, kept between tokens so that a step does not allocate.
struct FilterScratch {
  std::vector<float> weights;         // [vocab_size]
  std::vector<Candidate> candidates;  // What is left.
};

/// Applies temperature (> 0) and the filters of `options` to `logits` [vocab_size], which become scores.
/// Returns the remaining candidates by ascending id, at least one; they live in `scratch` until the next call.
/// NaN and -infinity never remain unless nothing else exists (then one id does); +infinity beats all else.
/// Which tokens remain follows Hugging Face's TopK, TopP, MinP and Typical warpers, ties at the limit of top-k and
/// typical included. Cost: one pass of e^x over the vocabulary without top-k, and a sort of the few that matter.
std::span<const Candidate> FilterLogits(const SamplerOptions& options, std::span<float> logits, FilterScratch& scratch);

}  // namespace prenorm
