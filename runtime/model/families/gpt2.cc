// GPT-2: pre-LayerNorm with biases, learned positions, GELU without a gate. Radford et al. 2019.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildGpt2(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  static constexpr NamePair kNames[] = {
      {"token_embd", "wte"}, {"position_embd", "wpe"},    {"output_norm", "ln_f"},
      {"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"},
      {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc"},      {"ffn_down", "mlp.c_proj"},
  };
  ModelConfig& config = parts.config;
  binder.UseHfNames({kNames, "h.", /*transposed=*/true});
  parts.block.norm = NormKind::kLayer;
  config.ffn_dim = reader.is_hf() ? 4 * reader.Size("embedding_length", 1u << 20) : 0;  // Where n_inner is null.
  ReadDecoderConfig(reader, binder, parts);
  parts.block.gate = ReadGate(reader, Gate::kGeluTanh);
  if (reader.Flag("scale_attn_by_inverse_layer_idx", false) || !reader.Flag("scale_attn_weights", true)) {
    reader.Fail(StatusCode::kUnsupported, "attention scaled by the layer, or not at all, is not supported");
  }
  if (!reader.status().ok()) return reader.status();
  config.rope_dim = 0;
  for (LayerSpec& layer : parts.block.layers) layer.rope = kNoRope;
  BindDecoder(parts, binder);
  parts.weights.position_embd = binder.Matrix("position_embd", config.max_seq_len, config.dim);
  return binder.status();
}

}  // namespace prenorm
