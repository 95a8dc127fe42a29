// Sampler: checks its options, remembers tokens, filters, draws.
#include <cmath>
#include <sstream>

#include "prenorm/generate.h"
#include "prenorm/ops.h"
#include "runtime/sampler/filters.h"
#include "runtime/sampler/pcg32.h"
#include "runtime/sampler/penalties.h"

namespace prenorm {
namespace {

Status OutOfRange(const char* option, double value, const char* range) {
  std::ostringstream message;
  message << "The sampling option " << option << " is out of range.\n"
          << option << ": expected " << range << ", found " << value << "\nGive a value in that range.";
  return Status(StatusCode::kInvalidArgument, message.str());
}

Status CheckOptions(const SamplerOptions& o) {
  // Written so that NaN fails.
  if (!(o.temperature >= 0.0f && std::isfinite(o.temperature))) {
    return OutOfRange("temperature", o.temperature, "a finite number >= 0");
  }
  if (!(o.repetition_penalty > 0.0f && std::isfinite(o.repetition_penalty))) {
    return OutOfRange("repetition_penalty", o.repetition_penalty, "a finite number > 0");
  }
  if (!std::isfinite(o.presence_penalty)) return OutOfRange("presence_penalty", o.presence_penalty, "a finite number");
  if (!std::isfinite(o.frequency_penalty))
    return OutOfRange("frequency_penalty", o.frequency_penalty, "a finite number");
  if (!(o.top_p > 0.0f && o.top_p <= 1.0f)) return OutOfRange("top_p", o.top_p, "more than 0, at most 1");
  if (!(o.min_p >= 0.0f && o.min_p <= 1.0f)) return OutOfRange("min_p", o.min_p, "0 to 1");
  if (!(o.typical_p > 0.0f && o.typical_p <= 1.0f))
    return OutOfRange("typical_p", o.typical_p, "more than 0, at most 1");
  for (const auto& [token, bias] : o.logit_bias) {
    if (token < 0) return OutOfRange("logit_bias", token, "token ids >= 0");
    if (std::isnan(bias)) return OutOfRange("logit_bias", bias, "a number, or an infinity");
  }
  return Status();
}

}  // namespace

struct Sampler::Impl {
  explicit Impl(const SamplerOptions& o) : options(o), history(o), generator(o.seed) {}

  SamplerOptions options;
  TokenHistory history;
  Pcg32 generator;
  FilterScratch scratch;
};

Result<Sampler> Sampler::Create(const SamplerOptions& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  return Sampler(std::make_unique<Impl>(options));
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

void Sampler::Accept(TokenId token) { impl_->history.Accept(token); }

TokenId Sampler::Sample(std::span<float> logits) {
  if (logits.empty()) return 0;
  impl_->history.Apply(impl_->options, logits);
  if (impl_->options.temperature == 0.0f) {
    return static_cast<TokenId>(ArgMax(logits.data(), logits.size()));
  }
  const std::span<const Candidate> candidates = FilterLogits(impl_->options, logits, impl_->scratch);
  double total = 0.0;
  for (const Candidate& c : candidates) total += c.weight;
  // Inverse of the cumulative distribution over ascending ids, so the choice does not depend on how it was filtered.
  const double wanted = impl_->generator.NextUnit() * total;
  double sum = 0.0;
  for (const Candidate& c : candidates) {
    sum += c.weight;
    if (sum > wanted) return c.id;
  }
  return candidates.back().id;
}

}  // namespace prenorm
