// Tokenizer and chat templates of GGUF files and of Hugging Face folders.
#include "runtime/model/text_parts.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "runtime/loader/folder_file.h"
#include "runtime/loader/json_numbers.h"
#include "runtime/tokenizer/gguf_spec.h"
#include "runtime/tokenizer/json_spec.h"

namespace prenorm {
namespace {

constexpr std::string_view kDefault = "default";
constexpr std::string_view kKey = "tokenizer.chat_template";

using Templates = std::vector<ChatTemplate>;

// The first of a name stays; an empty one is none.
void Add(std::string_view name, std::string_view text, Templates& templates) {
  if (text.empty()) return;
  for (const ChatTemplate& each : templates) {
    if (each.name == name) return;
  }
  templates.push_back({std::string(name), std::string(text)});
}

// Metadata "tokenizer.chat_template" and "tokenizer.chat_template.NAME".
Templates TemplatesOfGguf(const Metadata& metadata) {
  Templates templates;
  for (const MetaEntry& entry : metadata.entries()) {
    if (!entry.key.starts_with(kKey)) continue;
    const std::string_view rest = entry.key.substr(kKey.size());
    const std::optional<std::string_view> text = metadata.String(entry.key);
    if (!text || (!rest.empty() && (rest[0] != '.' || rest.size() == 1))) continue;
    Add(rest.empty() ? kDefault : rest.substr(1), *text, templates);
  }
  return templates;
}

// "chat_template": a text, or a list of {"name", "template"}.
void AddTemplatesOfConfig(simdjson::dom::element config, Templates& templates) {
  std::string_view text;
  if (config["chat_template"].get(text) == simdjson::SUCCESS) return Add(kDefault, text, templates);
  simdjson::dom::array named;
  if (config["chat_template"].get(named) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element entry : named) {
    std::string_view name;
    if (entry["name"].get(name) == simdjson::SUCCESS && entry["template"].get(text) == simdjson::SUCCESS) {
      Add(name, text, templates);
    }
  }
}

Status AddTemplateFiles(const std::string& folder, Templates& templates) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/additional_chat_templates", error)) {
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  const auto add = [&](std::string_view name, const std::string& path) -> Status {
    const Result<std::optional<std::string>> text = ReadFolderFileIfThere(path);
    if (!text.ok()) return text.status();
    Add(name, text->value_or(""), templates);
    return {};
  };
  if (Status status = add(kDefault, folder + "/chat_template.jinja"); !status.ok()) return status;
  for (const std::filesystem::path& path : paths) {
    if (Status status = add(path.stem().string(), path.string()); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> ReadTokenizerSpec(const TensorSource& source) {
  if (source.format() == ModelFormat::kHuggingFace) return SpecFromHfFolder(source.path());
  return SpecFromGguf(source.metadata(), source.path());
}

Result<std::vector<ChatTemplate>> ReadChatTemplates(const TensorSource& source) {
  if (source.format() == ModelFormat::kGguf) return TemplatesOfGguf(source.metadata());
  Templates templates;
  if (Status status = AddTemplateFiles(source.path(), templates); !status.ok()) return status;
  for (const char* name :
       {"/chat_template.json", "/tokenizer_config.json"}) {  // The first is of models with a processor.
    const std::string path = source.path() + name;
    const Result<std::optional<std::string>> text = ReadFolderFileIfThere(path);
    if (!text.ok()) return text.status();
    if (!*text) continue;
    simdjson::dom::parser parser;
    simdjson::dom::element config;
    if (const auto error = parser.parse(WithLongIntegersAsFloats(**text)).get(config); error != simdjson::SUCCESS) {
      return NotJson(path, simdjson::error_message(error));
    }
    AddTemplatesOfConfig(config, templates);
  }
  return templates;
}

}  // namespace prenorm
