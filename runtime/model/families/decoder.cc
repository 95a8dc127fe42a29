// Sizes, rotary frequencies and tensor names of pre-RMSNorm decoders in GGUF files.
#include "runtime/model/families/decoder.h"

#include <cmath>

namespace prenorm {
namespace {

// Far above any published model, low enough that no product of three of them wraps.
constexpr size_t kMaxWidth = 1u << 20;
constexpr size_t kMaxLayers = 1u << 12;
constexpr size_t kMaxHeads = 1u << 14;
constexpr size_t kMaxContext = 1u << 28;

}  // namespace

void ReadDecoderConfig(ConfigReader& reader, const TensorSource& source, ModelConfig& config) {
  config.architecture = source.metadata().String("general.architecture").value_or("");
  config.name = source.metadata().String("general.name").value_or("");
  config.dim = reader.Size("embedding_length", kMaxWidth);
  config.ffn_dim = reader.Size("feed_forward_length", kMaxWidth);
  config.n_layers = reader.Size("block_count", kMaxLayers);
  config.n_heads = reader.Size("attention.head_count", kMaxHeads);
  config.n_kv_heads = reader.Size("attention.head_count_kv", kMaxHeads, config.n_heads);
  config.max_seq_len = reader.Size("context_length", kMaxContext);
  config.norm_eps = reader.Number("attention.layer_norm_rms_epsilon", /*positive=*/false);
  if (!reader.status().ok()) return;

  config.head_dim = reader.Size("attention.key_length", kMaxWidth, config.dim / config.n_heads);
  const size_t value_length = reader.Size("attention.value_length", kMaxWidth, config.head_dim);
  config.rope_theta = reader.Number("rope.freq_base", /*positive=*/true, 10000.0f);
  config.rope_dim = reader.Size("rope.dimension_count", kMaxWidth, config.head_dim);
  if (!reader.status().ok()) return;

  const auto expect = [&](bool holds, const std::string& message) {
    if (!holds) reader.Fail(StatusCode::kBadModel, message);
  };
  expect(config.n_heads % config.n_kv_heads == 0, std::to_string(config.n_heads) + " query heads cannot share " +
                                                      std::to_string(config.n_kv_heads) + " key-value heads evenly");
  expect(config.rope_dim % 2 == 0 && config.rope_dim <= config.head_dim,
         "rope.dimension_count " + std::to_string(config.rope_dim) + " must be even and at most the head size " +
             std::to_string(config.head_dim));
  if (value_length != config.head_dim) {
    reader.Fail(StatusCode::kUnsupported, "heads with keys of " + std::to_string(config.head_dim) + " and values of " +
                                              std::to_string(value_length) + " elements are not supported");
  }
}

void ReadRope(ConfigReader& reader, const ModelConfig& config, Binder& binder, BlockSpec& block) {
  const std::string_view scaling = reader.Text("rope.scaling.type", "none");
  float factor = 1.0f;
  if (scaling == "linear") {
    factor = reader.Number("rope.scaling.factor", /*positive=*/true);
  } else if (scaling != "none") {
    reader.Fail(StatusCode::kUnsupported,
                "rope scaling of type '" + std::string(scaling) + "' is not supported\nsupported: none, linear");
  }
  if (!reader.status().ok()) return;
  const size_t half = config.rope_dim / 2;
  const std::vector<float> divisors = binder.OptionalVector("rope_freqs.weight", half);
  block.inv_freq.resize(half);
  for (size_t i = 0; i < half; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.rope_dim);
    const double divisor = divisors.empty() ? factor : static_cast<double>(factor) * divisors[i];
    block.inv_freq[i] = static_cast<float>(std::pow(static_cast<double>(config.rope_theta), exponent) / divisor);
  }
}

void BindDecoder(const ModelConfig& config, Binder& binder, ModelWeights& weights) {
  const size_t dim = config.dim;
  const size_t q_dim = config.n_heads * config.head_dim;
  const size_t kv_dim = config.n_kv_heads * config.head_dim;
  weights.token_embd = binder.Matrix("token_embd.weight", config.vocab_size, dim);
  for (size_t i = 0; i < config.n_layers && binder.status().ok(); ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    LayerWeights layer;
    layer.attn_norm = binder.Vector(prefix + "attn_norm.weight", dim);
    layer.wq = binder.LinearMap(prefix + "attn_q", q_dim, dim);
    layer.wk = binder.LinearMap(prefix + "attn_k", kv_dim, dim);
    layer.wv = binder.LinearMap(prefix + "attn_v", kv_dim, dim);
    layer.wo = binder.LinearMap(prefix + "attn_output", dim, q_dim);
    layer.ffn_norm = binder.Vector(prefix + "ffn_norm.weight", dim);
    layer.w_gate = binder.LinearMap(prefix + "ffn_gate", config.ffn_dim, dim);
    layer.w_up = binder.LinearMap(prefix + "ffn_up", config.ffn_dim, dim);
    layer.w_down = binder.LinearMap(prefix + "ffn_down", dim, config.ffn_dim);
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = binder.Vector("output_norm.weight", dim);
  weights.output =
      binder.Matrix(config.tied_embeddings ? "token_embd.weight" : "output.weight", config.vocab_size, dim);
}

}  // namespace prenorm
