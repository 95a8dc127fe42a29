// Embeddings: whole texts to vectors, many at once and without padding, by encoders (BERT) and by decoders.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "prenorm/profile.h"
#include "prenorm/status.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

class Model;

/// How the rows of a text's tokens become one.
enum class Pooling {
  kMean,  ///< Their mean, [CLS] and [SEP] included.
  kCls,   ///< The first.
  kLast,  ///< The last.
};

/// "mean", "cls", "last".
const char* PoolingName(Pooling pooling);

struct EncoderOptions {
  /// 0 means DefaultThreads().
  int threads = 0;
  /// Absent: as the model's files say (modules.json and the configuration of its pooling; GGUF A.pooling_type). Where
  /// they say nothing, the mean for encoders and the last token for decoders.
  std::optional<Pooling> pooling = std::nullopt;
  /// Whether vectors get length 1. Absent: modules.json; where there is none, yes.
  std::optional<bool> normalize = std::nullopt;
  /// Most tokens of a text, more than the model puts around each; 0 means what the files say
  /// (sentence_bert_config.json), at most the model's positions.
  size_t max_tokens = 0;
  /// A longer text loses its end; otherwise it is an error.
  bool truncate = false;
  /// Markers such as "[SEP]" in a text become control ids, as tokenizers of Hugging Face do; otherwise they are text.
  bool parse_special = false;
  /// Tokens that are evaluated together; more where one text has more. Does not change a bit of any result.
  size_t batch_tokens = 1024;
};

/// Turns texts into vectors. Not thread-safe: of two calls at once the later one returns kBusy.
///
/// Bits     a text's vector depends on the text alone: not on the texts beside it, their order, or threads.
/// Source   Devlin et al. 2018; Reimers and Gurevych 2019 for the pooling.
class Encoder {
 public:
  /// Errors: kInvalidArgument for options out of range; kUnsupported where the model's files ask for a pooling or a
  /// module that does not exist here and the options do not say otherwise; kOutOfMemory.
  static Result<std::unique_ptr<Encoder>> Create(std::shared_ptr<const Model> model,
                                                 const EncoderOptions& options = {});
  ~Encoder();

  /// out: [texts.size(), dim()] f32.
  /// Errors: kContextFull for a text that is too long, naming its number and both counts; kInvalidArgument for a text
  /// without tokens, or where the model was loaded for another SIMD target (ForceTarget); those of Tokenizer::Encode;
  /// kBadModel where a mapped file of the model was changed, or a vector is not finite; kOutOfMemory; kCancelled;
  /// kBusy. `out` is then unspecified.
  Status Embed(std::span<const std::string_view> texts, float* out);

  /// The same for token ids, with all that the model puts around a text. Errors: also kInvalidArgument for an id
  /// outside the embedding.
  Status EmbedTokens(std::span<const std::vector<TokenId>> sequences, float* out);

  /// The rows behind the last layer and the final norm, not pooled: [sum of the sequences' sizes, dim()] f32.
  Status HiddenStates(std::span<const std::vector<TokenId>> sequences, float* out);

  /// The ids of a text as Embed takes them. Errors: those of Embed.
  Result<std::vector<TokenId>> Tokenize(std::string_view text) const;

  /// Looked at between layers; null for none. Not owned.
  void set_cancel_flag(const std::atomic<bool>* flag);
  /// Receives an event an operator and thread; null for none. Not owned.
  void set_observer(OpObserver* observer);

  const Model& model() const;
  size_t dim() const;
  int threads() const;
  Pooling pooling() const;
  bool normalizes() const;
  size_t max_tokens() const;
  /// Tokens that the last call evaluated.
  size_t tokens() const;

 private:
  struct Impl;
  explicit Encoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace prenorm
