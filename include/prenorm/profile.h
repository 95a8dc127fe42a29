// Operator events of the engine: what ran, where, on which thread, how long.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prenorm {

/// What an event spent its time on.
enum class OpKind : uint8_t {
  kEmbedding,   ///< Rows of the embedding matrix, dequantized.
  kNorm,        ///< Normalization, with the packing of its result for the next product where they are one loop.
  kMatMul,      ///< A product with a weight matrix.
  kPack,        ///< Quantization of activations that is not part of a norm.
  kRope,        ///< Rotary embedding and the write of keys and values into the cache.
  kAttention,   ///< Scores, softmax and the weighted sum over the cache.
  kActivation,  ///< Gate and activation function of the feed-forward part.
  kResidual,    ///< Residual additions that are not part of a product.
  kBarrier,     ///< Waiting for the other threads.
  kIdle,        ///< A whole step of a thread that had no part in it: beside other processes fewer can be faster.
  kCount,
};

/// Which operator of a block it was.
enum class OpSite : uint8_t {
  kEmbed,
  kAttnNorm,
  kQkv,
  kQkNorm,
  kAttention,
  kAttnOutput,
  kPostAttnNorm,
  kFfnNorm,
  kGateUp,
  kDown,
  kPostFfnNorm,
  kFinalNorm,
  kOutput,
  kEmbdNorm,  ///< Of the sum of the embeddings (BERT).
  kStep,      ///< All of them.
  kCount,
};

/// Stable lower-case names, as in the JSON of `prenorm profile`.
const char* OpKindName(OpKind kind);
const char* OpSiteName(OpSite site);

/// One operator on one thread.
struct OpEvent {
  OpKind kind;
  OpSite site;
  int32_t layer;      ///< -1 outside the layers.
  int32_t thread;     ///< 0 … threads - 1.
  uint64_t begin_ns;  ///< Monotonic clock.
  uint64_t end_ns;    ///< Monotonic clock.
};

/// Receives events. The engine calls Record on every thread of its team without a lock: an implementation keeps one
/// buffer a thread. A null observer costs two predictable branches an operator.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void Record(const OpEvent& event) = 0;
};

/// What timing costs, in nanoseconds an event: medians over operators that do nothing, on the calling thread.
struct TimerCost {
  double inside_ns = 0;  ///< Counted as the operator's: the part of the clock's own time between its two readings.
  double whole_ns = 0;   ///< Of an event with an observer that adds up, inside_ns included.
  double off_ns = 0;     ///< Of the branch without an observer.
};
TimerCost MeasureTimerCost();

}  // namespace prenorm
