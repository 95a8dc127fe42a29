// Recognizes norms by the names that GGUF converters and Hugging Face models give them.
#include "runtime/inspect_norms.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace prenorm {
namespace {

// "blk.3.attn_norm.weight" -> layer 3, "attn_norm", "weight".
struct NameParts {
  int64_t layer = -1;
  std::string_view site;
  std::string_view role;
  bool in_attention = false;  // A module named "attention" is on the way.
};

NameParts Split(std::string_view name) {
  NameParts parts;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    int64_t number;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size()) {
      parts.layer = number;
    } else if (part == "weight" || part == "bias") {
      parts.role = part;
    } else {
      parts.site = part;
      parts.in_attention = parts.in_attention || part == "attention";
    }
  }
  return parts;
}

std::string SiteName(const NameParts& parts, bool has_norm_before_ffn) {
  constexpr std::pair<std::string_view, std::string_view> kSites[] = {
      {"attn_q_norm", "q_norm"},
      {"attn_k_norm", "k_norm"},
      {"post_attention_norm", "post_attn_norm"},
      {"attn_output_norm", "post_attn_norm"},
      {"post_ffw_norm", "post_ffn_norm"},
      {"layer_output_norm", "post_ffn_norm"},
      {"output_norm", "final_norm"},
      {"token_embd_norm", "embd_norm"},
      {"input_layernorm", "attn_norm"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffn_norm"},
      {"norm", "final_norm"},
      {"ln_1", "attn_norm"},
      {"ln_2", "ffn_norm"},
      {"ln_f", "final_norm"},
  };
  // Hugging Face's Llama calls the norm before the feed-forward part after what precedes it; Gemma has both.
  if (parts.site == "post_attention_layernorm") return has_norm_before_ffn ? "post_attn_norm" : "ffn_norm";
  if (parts.site == "LayerNorm") {  // BERT: after the embeddings, after attention, after the feed-forward part
    if (parts.layer < 0) return "embd_norm";
    return parts.in_attention ? "post_attn_norm" : "post_ffn_norm";
  }
  for (const auto& [name, site] : kSites) {
    if (name == parts.site) return std::string(site);
  }
  return std::string(parts.site);
}

}  // namespace

bool IsNormTensor(const TensorInfo& tensor) {
  const NameParts parts = Split(tensor.name);
  return tensor.n_dims == 1 && !parts.role.empty() &&
         (parts.site.find("norm") != std::string_view::npos || parts.site.ends_with("Norm") ||
          parts.site.starts_with("ln_"));
}

std::vector<InspectedNorm> FindNorms(const TensorSource& source) {
  const Metadata& meta = source.metadata();
  const std::string prefix = std::string(meta.String("general.architecture").value_or("")) + ".";
  const auto first_of = [&](std::initializer_list<std::string> keys) -> std::optional<float> {
    for (const std::string& key : keys) {
      if (const std::optional<float> value = meta.F32(key)) return value;
    }
    return std::nullopt;
  };
  const std::optional<float> rms_eps = first_of({prefix + "attention.layer_norm_rms_epsilon", "rms_norm_eps"});
  const std::optional<float> layer_eps =
      first_of({prefix + "attention.layer_norm_epsilon", "layer_norm_epsilon", "layer_norm_eps"});

  const auto tensors = source.tensors();
  const bool has_norm_before_ffn = std::any_of(tensors.begin(), tensors.end(), [](const TensorInfo& tensor) {
    return Split(tensor.name).site == "pre_feedforward_layernorm";
  });
  std::vector<InspectedNorm> norms;
  for (const TensorInfo& tensor : tensors) {
    const NameParts parts = Split(tensor.name);
    if (!IsNormTensor(tensor) || parts.role != "weight") continue;
    const std::string stem(tensor.name.substr(0, tensor.name.size() - parts.role.size()));
    const bool subtracts_mean = source.Find(stem + "bias") != nullptr || (!rms_eps && layer_eps);
    norms.push_back({SiteName(parts, has_norm_before_ffn), parts.layer, subtracts_mean ? "layer_norm" : "rms_norm",
                     tensor.elements(), subtracts_mean ? layer_eps : rms_eps});
  }
  return norms;
}

}  // namespace prenorm
