// The common pairs of names, and how a name is put together.
#include "runtime/model/hf_names.h"

namespace prenorm {
namespace {

constexpr NamePair kCommon[] = {
    {"token_embd", "embed_tokens"},
    {"output_norm", "norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.#.gate_proj"},
    {"ffn_up_exps", "mlp.experts.#.up_proj"},
    {"ffn_down_exps", "mlp.experts.#.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
};

std::string_view FindPair(std::string_view gguf, const HfNames& names) {
  for (const NamePair& pair : names.pairs) {
    if (pair.gguf == gguf) return pair.hf;
  }
  for (const NamePair& pair : kCommon) {
    if (pair.gguf == gguf) return pair.hf;
  }
  return {};
}

}  // namespace

std::string HfPrefix(const TensorSource& source, const HfNames& names) {
  // Models with a text and other parts keep the text model below a name of its own.
  for (const std::string_view prefix :
       {"model.", "transformer.", "bert.", "", "language_model.model.", "model.language_model."}) {
    if (source.Find(HfTensorName("token_embd.weight", prefix, names)) != nullptr) return std::string(prefix);
  }
  return "model.";
}

std::string HfTensorName(std::string_view gguf, std::string_view prefix, const HfNames& names) {
  std::string_view rest = gguf, layer;
  if (rest.starts_with("blk.")) {
    const size_t end = rest.find('.', 4);
    layer = rest.substr(4, end - 4);
    rest.remove_prefix(end + 1);
  }
  const size_t dot = rest.rfind('.');
  const std::string_view hf = dot == rest.npos ? std::string_view() : FindPair(rest.substr(0, dot), names);
  if (hf.empty()) return std::string(gguf);
  const std::string_view ending = rest.substr(dot);
  if (hf == "lm_head") {  // Beside the decoder, not inside it.
    const std::string_view outer = prefix == "language_model.model." ? "language_model." : "";
    return std::string(outer).append(hf).append(ending);
  }
  std::string name(prefix);
  if (!layer.empty()) name.append(names.layers).append(layer).append(".");
  return name.append(hf).append(ending);
}

}  // namespace prenorm
