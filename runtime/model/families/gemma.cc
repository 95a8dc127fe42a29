// Gemma 1 to 3: scaled embeddings, GeGLU, gains stored as w of 1 + w in Hugging Face folders; post-norms and soft caps
// (2), norms of the heads of q and k, local layers with a rotary base of their own (3). Gemma Team 2024 to 2025.
#include <cmath>

#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/families/rope.h"

namespace prenorm {
namespace {

void ReadGemma(ModelParts& parts, Binder& binder, ConfigReader& reader, bool has_post_norms) {
  static constexpr NamePair kPostNorms[] = {
      {"post_attention_norm", "post_attention_layernorm"},
      {"ffn_norm", "pre_feedforward_layernorm"},
      {"post_ffw_norm", "post_feedforward_layernorm"},
  };
  BlockSpec& block = parts.block;
  block.rope_pairs = RopePairs::kHalves;
  if (has_post_norms)
    binder.UseHfNames({kPostNorms});
  else
    binder.UseHfNames({});
  binder.AddToHfGains(1.0f);
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  block.embedding_scale = std::sqrt(static_cast<float>(parts.config.dim));
  // The first release of Gemma 1 says "gelu" and means the tanh form.
  block.gate = reader.Text("hidden_act", "gelu") == "gelu" ? Gate::kGeluTanh : ReadGate(reader, Gate::kGeluTanh);
  if (reader.Has("attn_logit_softcapping")) {
    block.attention_soft_cap = reader.Number("attn_logit_softcapping", /*positive=*/true);
  }
  if (reader.Has("final_logit_softcapping")) {
    block.logit_soft_cap = reader.Number("final_logit_softcapping", /*positive=*/true);
  }
}

// Scores of the largest models are scaled by the width over the number of heads, not by the head size. GGUF files do
// not say so: the number of layers does.
void ReadAttentionScale(ModelParts& parts, ConfigReader& reader, size_t layers_of_27b) {
  const ModelConfig& config = parts.config;
  float square = static_cast<float>(config.head_dim);
  if (reader.is_hf()) {
    square = reader.Number("query_pre_attn_scalar", /*positive=*/true, square);
  } else if (config.n_layers == layers_of_27b) {
    const size_t share = config.dim / config.n_heads;
    square = static_cast<float>(share);
  }
  parts.block.attention_scale = 1.0f / std::sqrt(square);
}

Status BindSandwich(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder, {"attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"});
  return binder.status();
}

}  // namespace

Status BuildGemma(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  ReadGemma(parts, binder, reader, /*has_post_norms=*/false);
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder);
  return binder.status();
}

Status BuildGemma2(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  ReadGemma(parts, binder, reader, /*has_post_norms=*/true);
  if (!reader.status().ok()) return reader.status();
  ReadAttentionScale(parts, reader, /*layers_of_27b=*/46);
  ReadWindows(reader, parts, [](size_t i) { return i % 2 == 0; });
  return BindSandwich(parts, binder, reader);
}

Status BuildGemma3(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  parts.block.qk_norm = QkNorm::kHeads;
  ReadGemma(parts, binder, reader, /*has_post_norms=*/true);
  if (!reader.status().ok()) return reader.status();
  ReadAttentionScale(parts, reader, /*layers_of_27b=*/62);
  // The architecture's defaults, which GGUF files leave out: five local layers for each global one, base 10000.
  const size_t pattern = ReadWindowPattern(reader, 6);
  const std::vector<bool> local = ReadWindows(reader, parts, [&](size_t i) { return (i + 1) % pattern != 0; });
  parts.block.ropes.push_back(
      PlainRope(parts.config, reader.Number("rope.freq_base_swa", /*positive=*/true, 10000.0f)));
  for (size_t i = 0; i < local.size(); ++i) parts.block.layers[i].rope = local[i] ? 1 : 0;
  return BindSandwich(parts, binder, reader);
}

}  // namespace prenorm
