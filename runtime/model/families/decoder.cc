// Sizes, kinds of layers and tensors of decoders.
#include "runtime/model/families/decoder.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/limits.h"
#include "runtime/model/families/rope.h"

namespace prenorm {
namespace {

// Far above any published model, low enough that no product of three of them wraps.

constexpr std::string_view kPatternKey = "attention.sliding_window_pattern";

// Both key and default differ: GGUF counts elements, config.json gives their share of a head.
size_t RotatedElements(ConfigReader& reader, size_t head_dim) {
  if (!reader.is_hf()) return reader.Size("rope.dimension_count", kMaxWidth, head_dim);
  const float share = reader.Number("rope.partial_factor", /*positive=*/true, 1.0f);
  return static_cast<size_t>(static_cast<float>(head_dim) * std::min(share, 1.0f));
}

void BindAttention(const ModelParts& parts, Binder& binder, const std::string& prefix, LayerWeights& layer) {
  const ModelConfig& config = parts.config;
  const size_t dim = config.dim, q_dim = config.n_heads * config.head_dim, kv_dim = config.n_kv_heads * config.head_dim;
  if (binder.Has(prefix + "attn_qkv.weight")) {
    const auto rows = [&](size_t begin, size_t count) {
      return binder.LinearRows(prefix + "attn_qkv", q_dim + 2 * kv_dim, dim, begin, count);
    };
    layer.wq = rows(0, q_dim);
    layer.wk = rows(q_dim, kv_dim);
    layer.wv = rows(q_dim + kv_dim, kv_dim);
  } else {
    layer.wq = binder.LinearMap(prefix + "attn_q", q_dim, dim);
    layer.wk = binder.LinearMap(prefix + "attn_k", kv_dim, dim);
    layer.wv = binder.LinearMap(prefix + "attn_v", kv_dim, dim);
  }
  if (parts.block.qk_norm != QkNorm::kNone) {
    // One gain for all heads or one for each: the file's size says which.
    const bool shared =
        parts.block.qk_norm == QkNorm::kHeads && binder.Elements(prefix + "attn_q_norm.weight") == config.head_dim;
    layer.q_norm = binder.Norm(prefix + "attn_q_norm", shared ? config.head_dim : q_dim);
    layer.k_norm = binder.Norm(prefix + "attn_k_norm", shared ? config.head_dim : kv_dim);
  }
  layer.wo = binder.LinearMap(prefix + "attn_output", dim, q_dim);
}

// Gate and up of all experts may stand in one tensor, the gates of an expert before its ups; in a folder its down
// matrices are then in one tensor too.
void BindExperts(const ModelParts& parts, Binder& binder, const std::string& prefix, LayerWeights& layer) {
  const size_t count = parts.block.n_experts, width = parts.block.expert_ffn_dim, dim = parts.config.dim;
  const bool hf = parts.source->format() == ModelFormat::kHuggingFace;
  const std::string fused = binder.ExpertsName(prefix, hf ? "gate_up_proj" : "ffn_gate_up_exps.weight");
  std::vector<WeightMatrix> gate, up, down;
  if (parts.source->Find(fused) != nullptr) {
    gate = binder.ExpertRows(fused, count, 2 * width, dim, 0, width);
    up = binder.ExpertRows(fused, count, 2 * width, dim, width, width);
    down = hf ? binder.ExpertRows(binder.ExpertsName(prefix, "down_proj"), count, dim, width, 0, dim)
              : binder.Experts(prefix + "ffn_down_exps", count, dim, width);
  } else {
    gate = binder.Experts(prefix + "ffn_gate_exps", count, width, dim);
    up = binder.Experts(prefix + "ffn_up_exps", count, width, dim);
    down = binder.Experts(prefix + "ffn_down_exps", count, dim, width);
  }
  for (size_t e = 0; binder.status().ok() && e < count; ++e) layer.experts.push_back({gate[e], up[e], down[e]});
}

void BindFeedForward(const ModelParts& parts, Binder& binder, const std::string& prefix, LayerWeights& layer) {
  const size_t dim = parts.config.dim, ffn_dim = parts.config.ffn_dim;
  if (parts.block.n_experts != 0) {
    layer.router = binder.Matrix(prefix + "ffn_gate_inp", parts.block.n_experts, dim);
    BindExperts(parts, binder, prefix, layer);
    if (const size_t shared = parts.block.shared_ffn_dim; shared != 0) {
      layer.shared_gate = binder.OptionalVector(prefix + "ffn_gate_inp_shexp.weight", dim);
      layer.w_gate = binder.LinearMap(prefix + "ffn_gate_shexp", shared, dim);
      layer.w_up = binder.LinearMap(prefix + "ffn_up_shexp", shared, dim);
      layer.w_down = binder.LinearMap(prefix + "ffn_down_shexp", dim, shared);
    }
    return;
  }
  if (binder.Has(prefix + "ffn_gate.weight")) {
    layer.w_gate = binder.LinearMap(prefix + "ffn_gate", ffn_dim, dim);
    layer.w_up = binder.LinearMap(prefix + "ffn_up", ffn_dim, dim);
  } else if (binder.Elements(prefix + "ffn_up.weight") == 2 * ffn_dim * dim) {  // Gate and up in one, as Phi-3.
    layer.w_gate = binder.LinearRows(prefix + "ffn_up", 2 * ffn_dim, dim, 0, ffn_dim);
    layer.w_up = binder.LinearRows(prefix + "ffn_up", 2 * ffn_dim, dim, ffn_dim, ffn_dim);
  } else {
    layer.w_up = binder.LinearMap(prefix + "ffn_up", ffn_dim, dim);
  }
  layer.w_down = binder.LinearMap(prefix + "ffn_down", dim, ffn_dim);
}

}  // namespace

void ReadDecoderConfig(ConfigReader& reader, const Binder& binder, ModelParts& parts) {
  ModelConfig& config = parts.config;
  config.dim = reader.Size("embedding_length", kMaxWidth);
  config.n_layers = reader.Size("block_count", kMaxLayers);
  config.n_heads = reader.Size("attention.head_count", kMaxHeads);
  config.n_kv_heads = reader.Size("attention.head_count_kv", kMaxHeads, config.n_heads);
  config.max_seq_len = reader.Size("context_length", kMaxContext);
  config.norm_eps = reader.Number(
      parts.block.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
      /*positive=*/false);
  if (!reader.status().ok()) return;

  const std::optional<size_t> usual_ffn = config.ffn_dim != 0 ? std::optional(config.ffn_dim) : std::nullopt;
  config.ffn_dim = reader.Size("feed_forward_length", kMaxWidth, usual_ffn);
  config.head_dim = reader.Size("attention.key_length", kMaxWidth, config.dim / config.n_heads);
  const size_t value_length = reader.Size("attention.value_length", kMaxWidth, config.head_dim);
  config.rope_theta = reader.Number("rope.freq_base", /*positive=*/true, 10000.0f);
  config.rope_dim = RotatedElements(reader, config.head_dim);
  if (!reader.status().ok()) return;

  const auto expect = [&](bool holds, const std::string& message) {
    if (!holds) reader.Fail(StatusCode::kBadModel, message);
  };
  expect(config.head_dim > 0, "heads of no elements: " + std::to_string(config.n_heads) + " heads in a width of " +
                                  std::to_string(config.dim));
  expect(config.n_heads % config.n_kv_heads == 0, std::to_string(config.n_heads) + " query heads cannot share " +
                                                      std::to_string(config.n_kv_heads) + " key-value heads evenly");
  expect(config.rope_dim % 2 == 0 && config.rope_dim <= config.head_dim,
         "rope.dimension_count " + std::to_string(config.rope_dim) + " must be even and at most the head size " +
             std::to_string(config.head_dim));
  if (value_length != config.head_dim) {
    reader.Fail(StatusCode::kUnsupported, "heads with keys of " + std::to_string(config.head_dim) + " and values of " +
                                              std::to_string(value_length) + " elements are not supported");
  }
  if (!reader.status().ok()) return;
  config.vocab_size = binder.Elements("token_embd.weight") / config.dim;
  config.tied_embeddings = !binder.Has("output.weight");
  // A folder that says otherwise lacks a tensor, which is named when it is looked for.
  if (reader.is_hf()) config.tied_embeddings = reader.Flag("tie_word_embeddings", config.tied_embeddings);
  parts.block.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  parts.block.layers.assign(config.n_layers, LayerSpec{});
}

void RotateAllLayers(ConfigReader& reader, Binder& binder, ModelParts& parts) {
  if (reader.status().ok()) parts.block.ropes = {ReadRope(reader, parts.config, binder)};
}

std::vector<bool> ReadWindows(ConfigReader& reader, ModelParts& parts, const std::function<bool(size_t)>& slides) {
  std::vector<bool> sliding(parts.block.layers.size(), false);
  const std::vector<std::string_view> listed = reader.Texts("layer_types");
  const std::vector<uint64_t> flags =
      reader.IsList(kPatternKey) ? reader.Numbers(kPatternKey) : std::vector<uint64_t>();
  const size_t window = reader.Count("attention.sliding_window", kMaxContext);
  if (!listed.empty() && listed.size() != sliding.size()) {
    reader.Fail(StatusCode::kBadModel, "key layer_types: expected " + std::to_string(sliding.size()) +
                                           " kinds of layers, found " + std::to_string(listed.size()));
  }
  if (!flags.empty() && flags.size() != sliding.size()) {
    reader.Fail(StatusCode::kBadModel, "key " + std::string(kPatternKey) + ": expected " +
                                           std::to_string(sliding.size()) + " layers, found " +
                                           std::to_string(flags.size()));
  }
  for (size_t i = 0; reader.status().ok() && i < sliding.size(); ++i) {
    if (!listed.empty() && listed[i] != "sliding_attention" && listed[i] != "full_attention") {
      reader.Fail(StatusCode::kUnsupported, "layers of type '" + std::string(listed[i]) +
                                                "' are not supported\nsupported: full_attention, sliding_attention");
    }
    if (!listed.empty())
      sliding[i] = listed[i] == "sliding_attention";
    else
      sliding[i] = flags.empty() ? slides(i) : flags[i] != 0;
    if (sliding[i]) parts.block.layers[i].window = window;
  }
  return sliding;
}

size_t ReadWindowPattern(ConfigReader& reader, size_t usual) {
  return reader.IsList(kPatternKey) ? usual : reader.Size(kPatternKey, kMaxLayers, usual);
}

Gate ReadGate(ConfigReader& reader, Gate usual) {
  const std::string name(reader.Text("hidden_act", ""));
  if (!reader.is_hf() || name.empty()) return usual;
  if (name == "silu" || name == "swish") return Gate::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") return Gate::kGeluTanh;
  if (name == "gelu") return Gate::kGeluErf;
  if (name == "relu") return Gate::kRelu;
  if (name == "relu2") return Gate::kReluSquared;
  reader.Fail(StatusCode::kUnsupported, "activation '" + name + "' is not supported\nsupported: silu, swish, gelu, " +
                                            "gelu_new, gelu_fast, gelu_pytorch_tanh, relu, relu2");
  return usual;
}

void ReadExperts(ConfigReader& reader, ModelParts& parts) {
  BlockSpec& block = parts.block;
  block.n_experts = reader.Count("expert_count", kMaxExperts);
  if (block.n_experts == 0) return;
  block.n_experts_used = reader.Size("expert_used_count", block.n_experts);
  block.expert_ffn_dim = reader.Size("expert_feed_forward_length", kMaxWidth, parts.config.ffn_dim);
  block.shared_ffn_dim = reader.Count("expert_shared_feed_forward_length", kMaxWidth);
}

void BindBlocks(ModelParts& parts, Binder& binder, const BlockNames& names) {
  const ModelConfig& config = parts.config;
  const size_t dim = config.dim;
  parts.weights.token_embd = binder.Matrix("token_embd", config.vocab_size, dim);
  for (size_t i = 0; i < config.n_layers && binder.status().ok(); ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto norm = [&](std::string_view name) {
      return name.empty() ? NormWeights{} : binder.Norm(prefix + std::string(name), dim);
    };
    LayerWeights layer;
    layer.attn_norm = norm(names.attn_norm);
    BindAttention(parts, binder, prefix, layer);
    layer.post_attn_norm = norm(names.post_attn_norm);
    layer.ffn_norm = norm(names.ffn_norm);
    BindFeedForward(parts, binder, prefix, layer);
    layer.post_ffn_norm = norm(names.post_ffn_norm);
    parts.weights.layers.push_back(std::move(layer));
  }
}

void BindDecoder(ModelParts& parts, Binder& binder, const BlockNames& names) {
  BindBlocks(parts, binder, names);
  const ModelConfig& config = parts.config;
  parts.weights.final_norm = binder.Norm("output_norm", config.dim);
  parts.weights.output = binder.Matrix(config.tied_embeddings ? "token_embd" : "output", config.vocab_size, config.dim);
}

}  // namespace prenorm
