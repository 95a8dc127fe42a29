// A loaded model: its sizes, its weights, its tokenizer. Immutable, so sessions of many threads may share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/tokenizer.h"
#include "prenorm/types.h"

namespace prenorm {

/// Sizes and constants of a decoder. Every value comes from the file; none is assumed.
/// In the GGUF keys below, A stands for the value of `general.architecture`.
struct ModelConfig {
  std::string architecture;  ///< GGUF general.architecture; HF model_type. E.g. "llama".
  std::string name;          ///< GGUF general.name; empty when the file has none.
  size_t dim = 0;            ///< GGUF A.embedding_length; HF hidden_size.
  size_t ffn_dim = 0;        ///< GGUF A.feed_forward_length; HF intermediate_size.
  size_t n_layers = 0;       ///< GGUF A.block_count; HF num_hidden_layers.
  size_t n_heads = 0;        ///< GGUF A.attention.head_count; HF num_attention_heads.
  size_t n_kv_heads = 0;     ///< GGUF A.attention.head_count_kv; HF num_key_value_heads. Equal to n_heads when absent.
  size_t head_dim = 0;       ///< GGUF A.attention.key_length; HF head_dim. dim / n_heads when absent.
  size_t vocab_size = 0;     ///< Rows of the embedding matrix; may exceed the tokenizer's tokens.
  size_t max_seq_len = 0;    ///< Tokens. GGUF A.context_length; HF max_position_embeddings.
  float norm_eps = 0.0f;     ///< GGUF A.attention.layer_norm_rms_epsilon; HF rms_norm_eps. Of LayerNorm likewise.
  float rope_theta = 0.0f;   ///< GGUF A.rope.freq_base; HF rope_theta. 10000 when absent.
  size_t rope_dim = 0;  ///< Elements of a head that are rotated. GGUF A.rope.dimension_count. head_dim when absent.
  bool tied_embeddings = false;  ///< The embedding matrix is the output matrix: the file has no output.weight.
};

/// How a model is read.
struct LoadOptions {
  /// Map the file instead of reading it. It may vanish then; after a change to it steps fail with kBadModel, and where
  /// it was truncated in the middle of one the process may get SIGBUS. Read and not mapped, it may change.
  bool use_mmap = true;
  /// Gemma multiplies embeddings by the root of its width. The training code held that factor in bf16; with this so
  /// does the model (640: 25.25 instead of 25.298221). Without effect on families that have no such factor.
  bool bf16_embedding_scale = false;
  /// A folder for prepared weights; empty: none. The weights then come from a file in there, in the layout of the
  /// active SIMD target: it is mapped read-only, so that all processes that name this folder share one copy in memory,
  /// and nothing is re-ordered. Where the file is missing, damaged or of an older state of the model it is made first,
  /// as large as the weights; folder and file are all that loading ever writes. It may be removed at any time, but not
  /// be truncated while a process uses it. Sharing needs use_mmap; a model from memory is never prepared.
  std::string prepared_folder = {};
  /// Called on the calling thread while weights are brought into order, with the share done in [0, 1]; return false to
  /// cancel (kCancelled). With prepared_folder it counts up anew for each check and each writing of a file; while another
  /// process writes the file the share is 0. Must not throw.
  std::function<bool(float)> progress;
};

/// A chat template of a model. Most models have one, named "default"; "tool_use" is a usual name of a second one.
struct ChatTemplate {
  std::string name;
  std::string source;  ///< Jinja.
};

/// Type-erased parts that only the runtime sees.
struct ModelParts;
class TensorSource;

/// A model ready to run. Immutable after Load; every member is const and may be called from any thread.
class Model {
 public:
  /// Reads a GGUF file, or a folder as Hugging Face lays models out (safetensors, config.json, tokenizer.json or
  /// .model). Its weights are interleaved for the active SIMD target (see ForceTarget). Errors: kNotFound, kIo,
  /// kBadModel (the file breaks its format), kUnsupported (architecture, tensor type, tokenizer), kOutOfMemory,
  /// kCancelled; with prepared_folder kInvalidArgument without use_mmap. The message names file, key or tensor.
  static Result<std::shared_ptr<const Model>> Load(const std::string& path, const LoadOptions& options = {});
  /// The bytes of a GGUF file, which are copied (use_mmap has no meaning). Errors as of Load; kUnsupported also for one
  /// part of a split model.
  static Result<std::shared_ptr<const Model>> LoadFromMemory(std::span<const uint8_t> bytes,
                                                             const LoadOptions& options = {});
  ~Model();

  const ModelConfig& config() const;
  /// Whether it reads whole texts (BERT) and has no next token: for Encoder alone, not for Session.
  bool is_encoder() const;
  const Tokenizer& tokenizer() const;
  /// Jinja source of the chat template named "default"; empty when the file has none.
  std::string_view chat_template() const;
  /// All of them, each name once: GGUF tokenizer.chat_template and tokenizer.chat_template.NAME; in a folder
  /// chat_template.jinja, additional_chat_templates/NAME.jinja, and those of tokenizer_config.json.
  const std::vector<ChatTemplate>& chat_templates() const;
  /// Bytes of all weight tensors as stored.
  size_t weight_bytes() const;
  /// Bytes of weights that one decode step reads: every matrix once, the embedding only if it is also the output.
  size_t decode_bytes() const;
  /// Most frequent type of the weight bytes in words, e.g. "Q4_1".
  std::string_view quantization() const;
  /// The file of prepared weights in use; empty: none.
  const std::string& prepared_path() const;
  /// Things a user should know about the file, one sentence each; e.g. tensors that no layer uses.
  const std::vector<std::string>& warnings() const;

  const ModelParts& parts() const;

 private:
  static Result<std::shared_ptr<const Model>> Build(std::unique_ptr<TensorSource> source, const LoadOptions& options);
  explicit Model(std::unique_ptr<ModelParts> parts);
  std::unique_ptr<ModelParts> parts_;
};

/// The files in `folder`, a LoadOptions::prepared_folder, that hold prepared weights of the model at `path`: one for
/// each layout in use. Not those of earlier states of the model; a copy with the same name, sizes and times has the
/// same files. Errors: those of reading a model.
Result<std::vector<std::string>> PreparedFilesOf(const std::string& path, const std::string& folder);

/// Architectures that Load accepts, as written in general.architecture of GGUF files.
std::vector<std::string_view> SupportedArchitectures();

}  // namespace prenorm
