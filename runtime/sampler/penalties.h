// Changes to logits that depend on the tokens seen so far, and the logit bias.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "prenorm/generate.h"

namespace prenorm {

/// What the sampler remembers of prompt and output.
class TokenHistory {
 public:
  /// Keeps only what `options` will ask for.
  explicit TokenHistory(const SamplerOptions& options);

  void Accept(TokenId token);

  /// Repetition, presence and frequency penalties, then the n-gram ban, then the bias, on `logits` [vocab_size].
  /// Seen or biased ids outside the vocabulary are passed over.
  void Apply(const SamplerOptions& options, std::span<float> logits) const;

 private:
  void BanRepeatedNgrams(size_t n, std::span<float> logits) const;

  bool counts_wanted_;
  bool order_wanted_;
  std::unordered_map<TokenId, uint32_t> counts_;  // Times that each token was seen.
  std::vector<TokenId> order_;                    // Every token, oldest first.
};

}  // namespace prenorm
