// The list of supported architectures, and what is read for all of them alike.
#include "runtime/model/families/family.h"

#include <algorithm>
#include <string>

#include "prenorm/model.h"

namespace prenorm {
namespace {

constexpr Family kFamilies[] = {
    {"llama", {"llama", "mistral", "mixtral"}, BuildLlama},
    {"qwen2", {"qwen2"}, BuildQwen2},
    {"qwen2moe", {"qwen2_moe"}, BuildQwen2Moe},
    {"qwen3", {"qwen3"}, BuildQwen3},
    {"qwen3moe", {"qwen3_moe"}, BuildQwen3Moe},
    {"gemma", {"gemma"}, BuildGemma},
    {"gemma2", {"gemma2"}, BuildGemma2},
    {"gemma3", {"gemma3_text", "gemma3"}, BuildGemma3},
    {"phi3", {"phi3"}, BuildPhi3},
    {"smollm3", {"smollm3"}, BuildSmolLm3},
    {"gpt2", {"gpt2"}, BuildGpt2},
    {"olmo2", {"olmo2"}, BuildOlmo2},
    {"command-r", {"cohere"}, BuildCohere},
    {"cohere2", {"cohere2"}, BuildCohere2},
    {"granite", {"granite"}, BuildGranite},
    {"bert", {"bert", "roberta"}, BuildBert},
};

std::string Join(const std::vector<std::string_view>& names) {
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

// Tensors that are missing may be there in another form: then the form is what is not supported.
Status NameQuantization(const TensorSource& source, const Status& status) {
  const auto method = source.metadata().String("quantization_config.quant_method");
  if (!method) return status;
  return {StatusCode::kUnsupported, "weights quantized by '" + std::string(*method) + "' are not supported\nin " +
                                        source.path() + "\nsupported: folders in F32, F16 and BF16, quantized GGUF"};
}

}  // namespace

Result<const Family*> FamilyOf(const TensorSource& source) {
  const bool hf = source.format() == ModelFormat::kHuggingFace;
  const char* key = hf ? "model_type" : "general.architecture";
  const std::optional<std::string_view> name = source.metadata().String(key);
  std::vector<std::string_view> supported;
  for (const Family& family : kFamilies) {
    if (!hf) supported.push_back(family.architecture);
    for (const std::string_view type : family.model_types) {
      if (hf && !type.empty()) supported.push_back(type);
    }
    if (!name) continue;
    const auto& types = family.model_types;
    const bool found = hf ? !name->empty() && std::find(types.begin(), types.end(), *name) != types.end()
                          : family.architecture == *name;
    if (found) return &family;
  }
  const std::string what = name ? "architecture '" + std::string(*name) + "' is not supported"
                                : "the model does not name its architecture (key " + std::string(key) + ")";
  return Status(StatusCode::kUnsupported, what + "\nin " + source.path() + "\nsupported: " + Join(supported));
}

Status BuildDecoder(const Family& family, size_t tokens, ModelParts& parts, Binder& binder) {
  ConfigReader reader(*parts.source, family.architecture);
  parts.config.architecture = family.architecture;
  parts.config.name = parts.source->metadata().String("general.name").value_or("");
  if (Status status = family.build(parts, binder, reader); !status.ok()) {
    return binder.status().ok() ? status : NameQuantization(*parts.source, status);
  }
  if (!reader.status().ok()) return reader.status();
  if (!binder.status().ok()) return NameQuantization(*parts.source, binder.status());
  if (parts.config.vocab_size < tokens) {
    return {StatusCode::kBadModel, "the embedding matrix has " + std::to_string(parts.config.vocab_size) +
                                       " rows for " + std::to_string(tokens) + " tokens\nin " + parts.source->path()};
  }
  return {};
}

std::vector<std::string_view> SupportedArchitectures() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.architecture);
  return names;
}

}  // namespace prenorm
