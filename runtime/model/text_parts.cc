// Tokenizer and chat template of GGUF files and of Hugging Face folders.
#include "runtime/model/text_parts.h"

#include <simdjson.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/loader/json_numbers.h"
#include "runtime/tokenizer/gguf_spec.h"
#include "runtime/tokenizer/json_spec.h"

namespace prenorm {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// "chat_template": a text, or a list of {"name", "template"}.
std::string TemplateOf(simdjson::dom::element config) {
  std::string_view text;
  if (config["chat_template"].get(text) == simdjson::SUCCESS) return std::string(text);
  simdjson::dom::array named;
  if (config["chat_template"].get(named) != simdjson::SUCCESS) return {};
  for (const simdjson::dom::element entry : named) {
    std::string_view name;
    if (entry["name"].get(name) == simdjson::SUCCESS && name == "default" &&
        entry["template"].get(text) == simdjson::SUCCESS) {
      return std::string(text);
    }
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> ReadTokenizerSpec(const TensorSource& source) {
  if (source.format() == ModelFormat::kHuggingFace) return SpecFromHfFolder(source.path());
  return SpecFromGguf(source.metadata(), source.path());
}

Result<std::string> ReadChatTemplate(const TensorSource& source) {
  if (source.format() == ModelFormat::kGguf) {
    return std::string(source.metadata().String("tokenizer.chat_template").value_or(""));
  }
  if (std::optional<std::string> own_file = ReadFile(source.path() + "/chat_template.jinja")) return *own_file;
  const std::string path = source.path() + "/tokenizer_config.json";
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return std::string();
  simdjson::dom::parser parser;
  simdjson::dom::element config;
  if (const auto error = parser.parse(WithLongIntegersAsFloats(*text)).get(config); error != simdjson::SUCCESS) {
    return Status(StatusCode::kBadModel, std::string("not JSON: ") + simdjson::error_message(error) + "\n" + path);
  }
  return TemplateOf(config);
}

}  // namespace prenorm
