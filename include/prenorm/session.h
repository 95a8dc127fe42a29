// A session: one sequence of tokens evaluated by a model, with its key-value cache. Used by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/norm_experiment.h"
#include "prenorm/profile.h"
#include "prenorm/status.h"
#include "prenorm/types.h"

namespace prenorm {

class StepTap;  // Looks at intermediate values; see runtime/model/forward.h.

/// How many threads to use, and why: "2 of 8: cgroup quota".
struct ThreadPlan {
  int threads = 1;
  std::string reason;
};

/// max(1, min(affinity mask, floor of the cgroup CPU quota, physical cores)).
ThreadPlan DefaultThreads();

struct SessionOptions {
  /// Tokens that the cache can hold; 0 means the model's max_seq_len, at most 8192. Models of the kind "longrope" have
  /// two sets of rotary frequencies: this chooses the one for long texts where it exceeds the original context, and 0
  /// never does.
  size_t context = 0;
  /// 0 means DefaultThreads().
  int threads = 0;
  /// Element type of the cache. kAuto: f32 for models of F32 weights, f16 otherwise.
  /// kInt8: Q8_0 blocks, half the memory of f16; heads must be multiples of 32 wide.
  enum class Cache { kAuto, kF32, kF16, kBF16, kInt8 } cache = Cache::kAuto;
  /// When an RMSNorm of the residual stream is computed. kAtInput: by whoever packs a product's input. kDeferred: the
  /// stage before leaves sums of squares beside its output, and 1 / rms goes into the scales of the packed input. As
  /// exact: with f32 activations 3e-12 apart in mean KL divergence (SmolLM2-135M); int8 codes differ by ties, which
  /// grow to another draw of the same rounding noise. kAuto: kDeferred, 3 % faster in prompts and 2 % in answers there.
  enum class Norm { kAuto, kAtInput, kDeferred } norm = Norm::kAuto;
  /// Logits that do not depend on how a prompt is cut, for F32, F16 and BF16 weights too (for quantized ones they never
  /// do): oneDNN, where there is one, takes no products.
  bool deterministic = false;
  /// Prompt tokens evaluated together. Bounds the memory of activations; does not change any logit
  /// of quantized weights.
  size_t chunk = 512;
};

/// One sequence. Not thread-safe: of two calls at once on one session that can fail, the later one returns kBusy.
class Session {
 public:
  /// Errors: kOutOfMemory with the bytes needed; kInvalidArgument for options out of range.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options = {});
  ~Session();

  /// Evaluates `tokens` after the ones already there. Afterwards logits() are those of the last position.
  /// `all_logits`, if not null, receives [tokens.size(), vocab_size] f32.
  /// Errors: kContextFull with both token counts, nothing evaluated; kInvalidArgument for an id outside the embedding,
  /// or where the model was loaded for another SIMD target (ForceTarget); kCancelled when the cancel flag was set (the
  /// position is then what it was before the call); kBadModel where a mapped file of the model was changed, or no logit
  /// is a finite number; kOutOfMemory; kBusy.
  Status Eval(std::span<const TokenId> tokens, float* all_logits = nullptr);

  /// [vocab_size] of the last position; empty before the first Eval, and after a Rewind without logits.
  std::span<const float> logits() const;
  /// Their logarithms of probabilities, log softmax(logits()), [vocab_size]; sums in f64. Empty where logits() is.
  /// Errors: kOutOfMemory.
  Result<std::vector<float>> LogProbs() const;

  /// Tokens evaluated so far, and the most that fit.
  size_t position() const;
  size_t capacity() const;
  /// The tokens that the session holds, [position()].
  std::span<const TokenId> tokens() const;

  /// Forgets everything from `position` on. `logits`, if not empty, are those that an Eval with `all_logits` gave for
  /// token position - 1, [vocab_size]; without them logits() is empty until the next Eval.
  /// Errors: kInvalidArgument when position is beyond the present one, or for another number of logits; kBusy;
  /// kOutOfMemory, and then nothing is forgotten.
  Status Rewind(size_t position, std::span<const float> logits = {});

  /// Keeps what the session holds of `prompt`, the longest beginning that both share, and forgets the rest: after
  /// Eval(prompt.subspan(n)), n the result, the session has evaluated `prompt`. n is at most prompt.size() - 1,
  /// so that the Eval gives logits; it is prompt.size() where the session holds exactly `prompt` and has its
  /// logits. Errors: kBusy; kOutOfMemory, and then nothing is forgotten.
  Result<size_t> ReusePrefix(std::span<const TokenId> prompt);

  /// Takes over the first `position` tokens of `other` with their keys and values, instead of what the session held;
  /// the logits too when `position` is where `other` stands. Afterwards the two have nothing in common. Errors:
  /// kInvalidArgument for another model, another type of cache, a position beyond that of `other`, or this session
  /// itself; kContextFull when it does not fit; kBusy. Then nothing has changed.
  Status ForkFrom(const Session& other, size_t position);

  /// The whole session as bytes, which Restore takes in a session of the same model and cache type, in any process.
  /// Errors: kOutOfMemory; kBusy.
  Result<std::vector<uint8_t>> Save() const;
  /// Becomes the session that was saved: the next Eval gives the bits it would have given there.
  /// Errors: kBadModel for bytes that are no session, cut or damaged (a checksum covers all); kUnsupported for another
  /// version of the format; kInvalidArgument for another model, cache type or a context that is too small; kBusy. Then
  /// nothing has changed.
  Status Restore(std::span<const uint8_t> bytes);
  /// The same with a file, which appears when it is complete. Errors: also kIo, and kNotFound.
  Status SaveFile(const std::string& path) const;
  Status RestoreFile(const std::string& path);

  /// Looked at between layers on every step; null for none. The flag is not owned.
  void set_cancel_flag(const std::atomic<bool>* flag);
  /// Called on the calling thread between layers of every Eval of several tokens, with the share done in [0, 1]; return
  /// false to cancel. Must not throw, nor use the session. Empty for none.
  void set_progress(std::function<bool(float)> progress);
  /// Receives an event an operator and thread; null for none. Not owned.
  void set_observer(OpObserver* observer);
  /// Runs norms in another way; null for none. Not owned, and not changed while the session has it.
  void set_norm_experiment(const NormExperiment* experiment);
  /// Sees intermediate rows of every step; null for none. Not owned. For comparisons, not for measurements.
  void set_tap(StepTap* tap);

  /// Nanoseconds of an Eval of `tokens` tokens for which logits of all were wanted, or of one token: a running mean of
  /// those of this session. 0 before the first, and above kTimedTokens.
  uint64_t EvalNs(size_t tokens) const;
  static constexpr size_t kTimedTokens = 17;

  const Model& model() const;
  int threads() const;
  /// Element type of the cache: kF32, kF16, kBF16 or kQ8_0.
  DType cache_type() const;
  /// Bytes of cache and activations that this session owns.
  size_t memory_bytes() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace prenorm
