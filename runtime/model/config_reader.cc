// Checked lookups of model sizes.
#include "runtime/model/config_reader.h"

#include <cmath>

namespace prenorm {
namespace {

// A key of GGUF files and what config.json calls it. A later line is used where the earlier ones are absent.
struct KeyPair {
  std::string_view gguf;
  std::string_view hf;
};

constexpr KeyPair kKeys[] = {
    {"embedding_length", "hidden_size"},
    {"embedding_length", "n_embd"},
    {"feed_forward_length", "intermediate_size"},
    {"feed_forward_length", "n_inner"},
    {"block_count", "num_hidden_layers"},
    {"block_count", "n_layer"},
    {"context_length", "max_position_embeddings"},
    {"context_length", "n_positions"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count", "n_head"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.value_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"attention.scale", "attention_multiplier"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.sliding_window_pattern", "sliding_window_pattern"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "logit_scale"},
    {"logit_scale", "logits_scaling"},
    {"expert_count", "num_local_experts"},
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base", "rope_parameters.rope_theta"},
    {"rope.freq_base", "rope_parameters.full_attention.rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
    {"rope.freq_base_swa", "rope_parameters.sliding_attention.rope_theta"},
    {"rope.partial_factor", "partial_rotary_factor"},
    {"rope.partial_factor", "rope_parameters.partial_rotary_factor"},
    {"hidden_act", "hidden_activation"},
    {"hidden_act", "hidden_act"},
    {"hidden_act", "activation_function"},
};

// What rope scaling says stands in one of these objects.
constexpr std::string_view kRopeObjects[] = {"rope_scaling.", "rope_parameters.full_attention.", "rope_parameters."};
constexpr KeyPair kRopeScalingKeys[] = {
    {"type", "rope_type"},
    {"type", "type"},
    {"original_context_length", "original_max_position_embeddings"},
    {"yarn_beta_fast", "beta_fast"},
    {"yarn_beta_slow", "beta_slow"},
};
constexpr std::string_view kRopeScaling = "rope.scaling.";

std::string HfKey(const Metadata& metadata, const std::string& prefix, std::string_view key) {
  std::string first;
  const auto found = [&](const std::string& name) {
    if (first.empty()) first = name;
    return metadata.Has(name);
  };
  for (const KeyPair& pair : kKeys) {
    const std::string name = prefix + std::string(pair.hf);
    if (pair.gguf == key && found(name)) return name;
  }
  if (key == "rope.scaling.original_context_length" && found(prefix + "original_max_position_embeddings")) {
    return first;  // Beside the object: Phi-3.
  }
  if (key.starts_with(kRopeScaling)) {
    const std::string_view rest = key.substr(kRopeScaling.size());
    for (const std::string_view object : kRopeObjects) {
      bool renamed = false;
      for (const KeyPair& pair : kRopeScalingKeys) {
        if (pair.gguf != rest) continue;
        renamed = true;
        const std::string name = prefix + std::string(object) + std::string(pair.hf);
        if (found(name)) return name;
      }
      const std::string name = prefix + std::string(object) + std::string(rest);
      if (!renamed && found(name)) return name;
    }
  }
  return first.empty() ? prefix + std::string(key) : first;
}

}  // namespace

ConfigReader::ConfigReader(const TensorSource& source, std::string_view architecture) : source_(source) {
  // Models with a text and other parts describe the text model in an object of its own.
  if (!is_hf())
    prefix_ = std::string(architecture) + ".";
  else if (source.metadata().Has("text_config.hidden_size"))
    prefix_ = "text_config.";
}

std::string ConfigReader::Full(std::string_view key) const {
  return is_hf() ? HfKey(source_.metadata(), prefix_, key) : prefix_ + std::string(key);
}

bool ConfigReader::Has(std::string_view key) const { return source_.metadata().Has(Full(key)); }

void ConfigReader::Fail(StatusCode code, const std::string& message) {
  const char* action = code == StatusCode::kBadModel ? "\nDownload or convert the model again." : "";
  if (status_.ok()) status_ = Status(code, message + "\nin " + source_.path() + action);
}

void ConfigReader::FailKey(std::string_view key, const std::string& expected, const std::string& found) {
  Fail(StatusCode::kBadModel, "key " + Full(key) + ": expected " + expected + ", found " + found);
}

size_t ConfigReader::Size(std::string_view key, size_t limit, std::optional<size_t> fallback) {
  const std::optional<uint64_t> value = source_.metadata().U64(Full(key));
  if (!value) {
    if (Has(key)) {
      FailKey(key, "a whole number", "another type or a negative number");
    } else if (!fallback) {
      FailKey(key, "a whole number", "no such key");
    }
    return fallback.value_or(0);
  }
  if (*value == 0 || *value > limit) {
    FailKey(key, "a size from 1 to " + std::to_string(limit), std::to_string(*value));
    return 0;
  }
  return static_cast<size_t>(*value);
}

size_t ConfigReader::Count(std::string_view key, size_t limit) {
  const bool none = !Has(key) || source_.metadata().U64(Full(key)) == uint64_t{0};
  return none ? 0 : Size(key, limit);
}

float ConfigReader::Number(std::string_view key, bool positive, std::optional<float> fallback) {
  const std::optional<float> value = source_.metadata().F32(Full(key));
  const char* expected = positive ? "a finite number above 0" : "a finite number, 0 or more";
  if (!value) {
    if (Has(key)) {
      FailKey(key, expected, "another type");
    } else if (!fallback) {
      FailKey(key, expected, "no such key");
    }
    return fallback.value_or(0.0f);
  }
  if (!std::isfinite(*value) || *value < 0.0f || (positive && *value == 0.0f)) {
    FailKey(key, expected, std::to_string(*value));
    return 0.0f;
  }
  return *value;
}

std::string_view ConfigReader::Text(std::string_view key, std::string_view fallback) {
  const std::optional<std::string_view> text = source_.metadata().String(Full(key));
  if (!text && Has(key)) FailKey(key, "a text", "another type");
  return text.value_or(fallback);
}

bool ConfigReader::Flag(std::string_view key, bool fallback) {
  const std::optional<bool> flag = source_.metadata().Bool(Full(key));
  if (!flag && Has(key)) FailKey(key, "true or false", "another type");
  return flag.value_or(fallback);
}

bool ConfigReader::IsList(std::string_view key) const {
  const MetaEntry* entry = source_.metadata().Find(Full(key));
  return entry != nullptr && entry->is_array;
}

std::vector<std::string_view> ConfigReader::Texts(std::string_view key) {
  const std::optional<StringArray> texts = source_.metadata().Strings(Full(key));
  if (!texts && Has(key)) FailKey(key, "a list of texts", "another type");
  return texts ? std::vector<std::string_view>(texts->begin(), texts->end()) : std::vector<std::string_view>();
}

// `get(numbers, i)` is item i, or nothing where it is of another type.
template <typename T, typename Get>
std::vector<T> ConfigReader::List(std::string_view key, const char* expected, const Get& get) {
  std::vector<T> values;
  const std::optional<NumberArray> numbers = source_.metadata().Numbers(Full(key));
  if (!numbers && Has(key)) FailKey(key, expected, "another type");
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    const std::optional<T> value = get(*numbers, i);
    if (!value) FailKey(key, expected, "another type as item " + std::to_string(i));
    values.push_back(value.value_or(T()));
  }
  return values;
}

std::vector<uint64_t> ConfigReader::Numbers(std::string_view key) {
  return List<uint64_t>(key, "a list of whole numbers or flags", [](const NumberArray& numbers, size_t i) {
    const std::optional<bool> flag = numbers.Bool(i);
    return flag ? std::optional<uint64_t>(*flag) : numbers.U64(i);
  });
}

std::vector<float> ConfigReader::Floats(std::string_view key) {
  return List<float>(key, "a list of numbers", [](const NumberArray& numbers, size_t i) { return numbers.F32(i); });
}

}  // namespace prenorm
