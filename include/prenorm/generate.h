// Text generation: the sampler, and the loop from prompt ids to text.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/session.h"
#include "prenorm/status.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

/// How the next token is chosen. Names and meaning as in Hugging Face transformers; applied in the order of the fields.
struct SamplerOptions {
  float repetition_penalty = 1.0f;  ///< > 0; positive logits of seen tokens are divided by it, negative multiplied.
  float presence_penalty = 0.0f;    ///< Subtracted once from the logit of every seen token.
  float frequency_penalty = 0.0f;   ///< Subtracted as often as the token was seen.
  size_t no_repeat_ngram_size = 0;  ///< 0: off. No n-gram of this length occurs twice.
  std::map<TokenId, float> logit_bias = {};
  float temperature = 1.0f;  ///< >= 0; 0 is greedy: the highest logit, the lowest id on ties.
  int64_t top_k = 0;         ///< <= 0: off. More than the vocabulary keeps everything.
  float top_p = 1.0f;        ///< In (0, 1]; 1: off.
  float min_p = 0.0f;        ///< In [0, 1]; 0: off.
  float typical_p = 1.0f;    ///< In (0, 1]; 1: off.
  uint64_t seed = 0;
};

/// Chooses tokens. Penalties count the prompt and the output. Same seed, same logits: same tokens, on every target.
/// Generator: PCG32 (O'Neill 2014) seeded through SplitMix64; one draw a sampled token.
class Sampler {
 public:
  /// Errors: kInvalidArgument naming the option, its value and its range.
  static Result<Sampler> Create(const SamplerOptions& options);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  /// Tells the sampler of a token of the prompt or of the output.
  void Accept(TokenId token);
  /// `logits` [vocab_size] is used as work space. Logits that are NaN never win. Returns the chosen id.
  TokenId Sample(std::span<float> logits);

 private:
  struct Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

enum class FinishReason { kStop, kLength, kInterrupted };
/// "stop", "length", "interrupted".
const char* FinishReasonName(FinishReason reason);

/// Guesses at the next tokens, which the model then checks several at a time: one pass over the weights may give more
/// than one token. A guess counts only where it is what would have been chosen anyway, with the same draws of the
/// generator, so text, ids and session are those of plain decoding (within what products promise:
/// include/prenorm/matmul.h).
struct Speculation {
  enum class Kind {
    kOff,
    kLookup,  ///< What followed the last few tokens when they occurred before, in prompt or answer.
    kDraft,   ///< What a smaller model says.
  } kind = Kind::kOff;
  /// Of kDraft: a session of a model with the same tokenizer. Not owned; what it holds is replaced.
  Session* draft = nullptr;
  size_t max_guesses = 8;  ///< A step, 1 to Session::kTimedTokens - 1. How many are made depends on measured costs.
  bool always = false;     ///< Guess as many as possible even where the measured costs say that it does not pay.
};

/// What came of it.
struct SpeculationStats {
  size_t steps = 0;     ///< Evaluations with guesses.
  size_t guessed = 0;   ///< Tokens guessed in them.
  size_t accepted = 0;  ///< Guesses that were right.
};

struct GenerateOptions {
  int64_t max_new_tokens =
      -1;  ///< -1: until an end token, a stop string or a full context. 0 only evaluates the prompt.
  std::vector<std::string> stop;   ///< The text ends before the first of these.
  bool ignore_end_tokens = false;  ///< Go on after end tokens (benchmarks).
  std::vector<TokenId> history;    ///< What the session already holds, where the penalties shall count it too.
  /// `prompt` is the whole sequence: what the session holds of its beginning is not evaluated again, what else it holds
  /// is forgotten (Session::ReusePrefix).
  bool reuse_prefix = false;
  SamplerOptions sampler;
  Speculation speculation;
};

/// Seconds are for people: times here are nanoseconds of a monotonic clock.
struct GenerateTimings {
  uint64_t prefill_ns = 0;  ///< Evaluation of the prompt.
  uint64_t decode_ns = 0;   ///< From the first sampled token to the end.
  uint64_t ttft_ns = 0;     ///< From the call to the first token handed out.
};

struct GenerateResult {
  std::string text;          ///< Whole UTF-8 sequences; no end token, nothing of a stop string.
  std::vector<TokenId> ids;  ///< Generated ids, a final end token included.
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;  ///< Of the prompt, with reuse_prefix.
  SpeculationStats speculation;
  FinishReason finish_reason = FinishReason::kStop;
  GenerateTimings timings;
};

/// Called with each new piece of text that is certain (possibly empty) and the id that caused it; return false to stop
/// (kInterrupted). Text held back until an interruption comes with the id -1.
using TokenCallback = std::function<bool(std::string_view text, TokenId id)>;

/// Evaluates `prompt` in `session` (after what it already holds) and generates. One path for every front end.
/// `cancel`, looked at between layers, ends with kInterrupted and the text so far.
/// Errors: kInvalidArgument (empty prompt in a session without logits, sampler options, a draft of another tokenizer),
/// kContextFull with both counts, others of Session::Eval.
Result<GenerateResult> Generate(Session& session, std::span<const TokenId> prompt, const GenerateOptions& options,
                                const TokenCallback& on_token = {}, const std::atomic<bool>* cancel = nullptr);

}  // namespace prenorm
