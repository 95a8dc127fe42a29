// Penalties, n-gram ban and bias with the formulas of Hugging Face's logits processors.
#include "runtime/sampler/penalties.h"

#include <algorithm>
#include <limits>

namespace prenorm {

TokenHistory::TokenHistory(const SamplerOptions& options)
    : counts_wanted_(options.repetition_penalty != 1.0f || options.presence_penalty != 0.0f ||
                     options.frequency_penalty != 0.0f),
      order_wanted_(options.no_repeat_ngram_size > 0) {}

void TokenHistory::Accept(TokenId token) {
  if (counts_wanted_) ++counts_[token];
  if (order_wanted_) order_.push_back(token);
}

void TokenHistory::Apply(const SamplerOptions& options, std::span<float> logits) const {
  const auto in_vocabulary = [&](TokenId id) { return id >= 0 && static_cast<size_t>(id) < logits.size(); };
  for (const auto& [token, count] : counts_) {
    if (!in_vocabulary(token)) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0.0f ? logit / options.repetition_penalty : logit * options.repetition_penalty;
    logit -= options.presence_penalty + options.frequency_penalty * static_cast<float>(count);
  }
  if (options.no_repeat_ngram_size > 0) BanRepeatedNgrams(options.no_repeat_ngram_size, logits);
  for (const auto& [token, bias] : options.logit_bias) {
    if (in_vocabulary(token)) logits[static_cast<size_t>(token)] += bias;
  }
}

void TokenHistory::BanRepeatedNgrams(size_t n, std::span<float> logits) const {
  if (order_.size() < n) return;
  // The last n - 1 tokens would begin the new n-gram: whatever followed them before is banned.
  const auto prefix = order_.end() - static_cast<std::ptrdiff_t>(n - 1);
  for (size_t start = 0; start + n <= order_.size(); ++start) {
    const auto window = order_.begin() + static_cast<std::ptrdiff_t>(start);
    if (!std::equal(prefix, order_.end(), window)) continue;
    const TokenId banned = window[static_cast<std::ptrdiff_t>(n - 1)];
    if (banned >= 0 && static_cast<size_t>(banned) < logits.size()) {
      logits[static_cast<size_t>(banned)] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace prenorm
