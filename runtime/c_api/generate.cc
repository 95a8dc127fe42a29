// Generation in the C interface.
#include "prenorm/generate.h"

#include <span>

#include "runtime/c_api/handles.h"
#include "runtime/limits.h"

namespace prenorm::c_api {
namespace {

Outcome TooMany(const char* name, size_t count, size_t most) {
  return Invalid(std::string(name) + ": expected at most " + std::to_string(most) + ", found " + std::to_string(count));
}

Outcome OptionsOf(const prenorm_generate_options& from, GenerateOptions& to) {
  to.max_new_tokens = from.max_new_tokens;
  to.ignore_end_tokens = from.ignore_end_tokens != 0;
  to.sampler.seed = from.seed;
  to.sampler.temperature = from.temperature;
  to.sampler.top_p = from.top_p;
  to.sampler.min_p = from.min_p;
  to.sampler.typical_p = from.typical_p;
  to.sampler.top_k = from.top_k;
  to.sampler.repetition_penalty = from.repetition_penalty;
  to.sampler.presence_penalty = from.presence_penalty;
  to.sampler.frequency_penalty = from.frequency_penalty;
  to.sampler.no_repeat_ngram_size = from.no_repeat_ngram_size;
  if (from.n_stop > kMaxStops) return TooMany("n_stop", from.n_stop, kMaxStops);
  if (from.n_stop != 0 && from.stop == nullptr) return IsNull("prenorm_generate_options", "stop");
  for (size_t i = 0; i < from.n_stop; ++i) {
    if (from.stop[i] == nullptr) return IsNull("prenorm_generate_options", "a text of stop");
    to.stop.emplace_back(from.stop[i]);
  }
  if (from.n_bias > kMaxBiases) return TooMany("n_bias", from.n_bias, kMaxBiases);
  if (from.n_bias != 0 && (from.bias_tokens == nullptr || from.bias_values == nullptr)) {
    return IsNull("prenorm_generate_options", "bias_tokens or bias_values");
  }
  for (size_t i = 0; i < from.n_bias; ++i) to.sampler.logit_bias[from.bias_tokens[i]] = from.bias_values[i];
  return {};
}

TokenCallback CallbackOf(const prenorm_generate_options& options) {
  if (options.on_token == nullptr) return {};
  return [&options](std::string_view text, TokenId id) {
    const std::string with_zero(text);
    return options.on_token(options.on_token_user, with_zero.c_str(), with_zero.size(), id) == PRENORM_CONTINUE;
  };
}

}  // namespace

Outcome RunGeneration(prenorm_session* session, std::span<const TokenId> prompt, bool whole_prompt,
                      const prenorm_generate_options* options, prenorm_result** result) {
  prenorm_generate_options c_options = PRENORM_GENERATE_OPTIONS_INIT;
  if (Outcome outcome = ReadStruct("prenorm_generate_options", options, c_options); !outcome.ok()) return outcome;
  GenerateOptions generate_options;
  if (Outcome outcome = OptionsOf(c_options, generate_options); !outcome.ok()) return outcome;
  auto handle = std::make_unique<prenorm_result>();
  generate_options.reuse_prefix = whole_prompt;
  if (!whole_prompt) {
    const std::span<const TokenId> held = session->session->tokens();
    generate_options.history.assign(held.begin(), held.end());
  }
  // Before anything reads the prompt: a count that is wrong is mostly one that is huge.
  const size_t room = session->session->capacity() - (whole_prompt ? 0 : session->session->position());
  if (prompt.size() > room) {
    return {PRENORM_E_CONTEXT_FULL, "the prompt of " + std::to_string(prompt.size()) +
                                        " tokens does not fit: room for " + std::to_string(room) + " of " +
                                        std::to_string(session->session->capacity()) +
                                        " is left\nuse a larger context or fewer tokens"};
  }
  Result<GenerateResult> generated =
      Generate(*session->session, prompt, generate_options, CallbackOf(c_options), &session->cancel);
  session->cancel.store(false, std::memory_order_relaxed);
  if (!generated.ok()) return generated.status();
  handle->result = std::move(generated).value();
  if (result != nullptr) *result = handle.release();
  return {};
}

}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_generate(prenorm_session* session, const int32_t* prompt, size_t n_prompt,
                                const prenorm_generate_options* options, prenorm_result** result,
                                prenorm_error* error) {
  return LeasedCall("prenorm_generate", session, error, [&]() -> Outcome {
    if (prompt == nullptr && n_prompt != 0) return IsNull("prenorm_generate", "prompt");
    return RunGeneration(session, {prompt, n_prompt}, false, options, result);
  });
}
