// Reads generation_config.json.
#include "tools/common/model_defaults.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/fetch/catalog.h"

namespace prenorm::tools {
namespace {

// Says nothing about how to sample, or is used elsewhere: end tokens by the tokenizer.
bool IsOfNoConcern(const std::string& key) {
  static const std::set<std::string> kOthers = {"transformers_version", "use_cache", "cache_implementation",
                                                "trust_remote_code", "do_sample"};
  return key.starts_with('_') || key.ends_with("_token_id") || kOthers.contains(key);
}

struct SetNumber {
  Options& options;
  double value;
  template <typename T>
  bool operator()(T Options::*field) const {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      options.*field = static_cast<T>(value);
      return true;
    }
    return false;
  }
};

const OptionSpec* FindOption(Command command, std::string key) {
  for (char& c : key) c = c == '_' ? '-' : c;
  for (const OptionSpec& spec : OptionTable()) {
    const std::string group = spec.group;
    if ((spec.commands & command) != 0 && (group == "Sampling" || group == "Length") && OptionName(spec) == key)
      return &spec;
  }
  return nullptr;
}

}  // namespace

Status ApplyModelDefaults(Command command, ParsedOptions& parsed) {
  if ((command & (kGenerate | kChat)) == 0) return {};
  const Result<std::string> folder = FindModelFile(parsed.options.model);
  if (!folder.ok()) return {};  // Opening the model says so.
  const std::string path = (std::filesystem::path(*folder) / "generation_config.json").string();
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const nlohmann::json config = nlohmann::json::parse(file, nullptr, false);
  if (!config.is_object()) {
    return Status(StatusCode::kBadModel, "The model's settings cannot be read.\n" + path +
                                             ": expected a JSON object, found something else\nFetch the folder again.");
  }
  std::string unused;
  const auto set = [&](const OptionSpec& spec, double value) {
    Origin& origin = parsed.origins[&spec];
    if (origin != Origin::kBuiltIn || !std::visit(SetNumber{parsed.options, value}, spec.field)) return;
    origin = Origin::kModel;
  };
  for (const auto& [key, value] : config.items()) {
    if (value.is_null() || IsOfNoConcern(key)) continue;
    const OptionSpec* spec = FindOption(command, key);
    if (spec != nullptr && value.is_number())
      set(*spec, value.get<double>());
    else
      unused += (unused.empty() ? "" : ", ") + key;
  }
  if (const auto sample = config.find("do_sample"); sample != config.end() && *sample == false) {
    const OptionSpec* temperature = FindOption(command, "temperature");
    if (temperature != nullptr && parsed.origins[temperature] == Origin::kModel) {
      parsed.origins[temperature] = Origin::kBuiltIn;
    }
    if (temperature != nullptr) set(*temperature, 0.0);
  }
  if (!unused.empty()) parsed.notes.push_back("generation_config.json: not used: " + unused);
  return {};
}

}  // namespace prenorm::tools
