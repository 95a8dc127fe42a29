// A session: one sequence of tokens evaluated by a model, with its key-value cache. Used by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "prenorm/model.h"
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
  /// Tokens that the cache can hold; 0 means the model's max_seq_len, at most 8192.
  size_t context = 0;
  /// 0 means DefaultThreads().
  int threads = 0;
  /// Element type of the cache. kAuto: f32 for models of F32 weights, f16 otherwise.
  enum class Cache { kAuto, kF32, kF16, kBF16 } cache = Cache::kAuto;
  /// Prompt tokens evaluated together. Bounds the memory of activations; does not change any logit of quantized weights.
  size_t chunk = 512;
};

/// One sequence. Not thread-safe: two calls at once on one session return kBusy from the later one.
class Session {
 public:
  /// Errors: kOutOfMemory with the bytes needed; kInvalidArgument for options out of range.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model, const SessionOptions& options = {});
  ~Session();

  /// Evaluates `tokens` after the ones already there. Afterwards logits() are those of the last position.
  /// `all_logits`, if not null, receives [tokens.size(), vocab_size] f32.
  /// Errors: kContextFull with both token counts, nothing evaluated; kInvalidArgument for an id outside the embedding;
  /// kCancelled when the cancel flag was set (the position is then what it was before the call); kBusy.
  Status Eval(std::span<const TokenId> tokens, float* all_logits = nullptr);

  /// [vocab_size] of the last evaluated position; empty before the first Eval.
  std::span<const float> logits() const;

  /// Tokens evaluated so far, and the most that fit.
  size_t position() const;
  size_t capacity() const;

  /// Forgets everything from `position` on. Errors: kInvalidArgument when position is beyond the present one.
  Status Rewind(size_t position);

  /// Looked at between layers on every step; null for none. The flag is not owned.
  void set_cancel_flag(const std::atomic<bool>* flag);
  /// Receives an event an operator and thread; null for none. Not owned.
  void set_observer(OpObserver* observer);
  /// Sees intermediate rows of every step; null for none. Not owned. For comparisons, not for measurements.
  void set_tap(StepTap* tap);

  const Model& model() const;
  int threads() const;
  /// Element type of the cache: kF32, kF16 or kBF16.
  DType cache_type() const;
  /// Bytes of cache and activations that this session owns.
  size_t memory_bytes() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace prenorm
