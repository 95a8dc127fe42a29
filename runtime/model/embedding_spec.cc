// The files of sentence-transformers, and the one key of GGUF.
#include "runtime/model/embedding_spec.h"

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/loader/folder_file.h"
#include "runtime/loader/json_numbers.h"

namespace prenorm {
namespace {

using simdjson::dom::element;

// A JSON file of the folder. No such file: no value.
class JsonFile {
 public:
  explicit JsonFile(const std::string& path) {
    const Result<std::optional<std::string>> text = ReadFolderFileIfThere(path);
    if (!text.ok()) {
      status_ = text.status();
    } else if (element root; *text) {
      const auto error = parser_.parse(WithLongIntegersAsFloats(**text)).get(root);
      if (error != simdjson::SUCCESS) {
        status_ = NotJson(path, simdjson::error_message(error));
      } else {
        root_ = root;
      }
    }
  }
  const Status& status() const { return status_; }
  const std::optional<element>& root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  std::optional<element> root_;
  Status status_;
};

std::string_view Text(element object, const char* key) {
  std::string_view value;
  return object[key].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

void Refuse(std::string what, EmbeddingSpec& spec) {
  if (spec.unsupported.empty()) spec.unsupported = std::move(what);
}

// "pooling_mode_...": exactly one of them is to be true.
void ReadPoolingModes(element config, EmbeddingSpec& spec) {
  constexpr std::pair<const char*, Pooling> kModes[] = {{"pooling_mode_mean_tokens", Pooling::kMean},
                                                        {"pooling_mode_cls_token", Pooling::kCls},
                                                        {"pooling_mode_lasttoken", Pooling::kLast}};
  simdjson::dom::object members;
  if (config.get(members) != simdjson::SUCCESS) return;
  size_t chosen = 0;
  for (const auto& [key, value] : members) {
    bool on = false;
    if (!key.starts_with("pooling_mode_")) continue;
    if (value.get(on) != simdjson::SUCCESS)
      Refuse("the value of " + std::string(key) + ", neither true nor false,", spec);
    if (!on) continue;
    bool known = false;
    for (const auto& [name, pooling] : kModes) {
      if (key != name) continue;
      spec.pooling = pooling;
      known = true;
    }
    if (!known || ++chosen > 1) Refuse("pooling by " + std::string(key), spec);
  }
}

Status ReadModules(const std::string& folder, element modules, EmbeddingSpec& spec) {
  simdjson::dom::array list;
  if (modules.get(list) != simdjson::SUCCESS) return NotJson(folder + "/modules.json", "expected a list of modules");
  spec.normalize = false;
  for (const element module : list) {
    std::string_view type = Text(module, "type");
    type.remove_prefix(type.rfind('.') == type.npos ? 0 : type.rfind('.') + 1);
    if (type == "Normalize") {
      spec.normalize = true;
    } else if (type == "Pooling") {
      const std::string_view path = Text(module, "path");
      if (path.find("..") != path.npos || path.starts_with('/')) {
        return {StatusCode::kBadModel, "the pooling module is outside the folder\nin " + folder + "/modules.json"};
      }
      const JsonFile config(folder + "/" + std::string(path) + "/config.json");
      if (!config.status().ok()) return config.status();
      if (config.root()) ReadPoolingModes(*config.root(), spec);
    } else if (type != "Transformer") {
      Refuse("a module '" + std::string(type) + "' behind the model", spec);
    }
  }
  return {};
}

Status ReadFolder(const std::string& folder, EmbeddingSpec& spec) {
  const JsonFile modules(folder + "/modules.json");
  if (!modules.status().ok()) return modules.status();
  if (modules.root()) {
    if (Status status = ReadModules(folder, *modules.root(), spec); !status.ok()) return status;
  }
  const JsonFile transformer(folder + "/sentence_bert_config.json");
  if (!transformer.status().ok()) return transformer.status();
  uint64_t most = 0;
  if (transformer.root() && (*transformer.root())["max_seq_length"].get(most) == simdjson::SUCCESS) {
    spec.max_tokens = static_cast<size_t>(most);
  }
  return {};
}

void ReadGguf(const Metadata& metadata, EmbeddingSpec& spec) {
  const std::string architecture(metadata.String("general.architecture").value_or(""));
  const std::string key = architecture + ".pooling_type";
  const std::optional<uint64_t> type = metadata.U64(key);
  if (!type && metadata.Has(key)) Refuse("a " + key + " that is no number", spec);
  if (!type) return;
  if (*type == 1)
    spec.pooling = Pooling::kMean;
  else if (*type == 2)
    spec.pooling = Pooling::kCls;
  else if (*type == 3)
    spec.pooling = Pooling::kLast;
  else if (*type != 0)
    Refuse("pooling of type " + std::to_string(*type), spec);
}

}  // namespace

Result<EmbeddingSpec> ReadEmbeddingSpec(const TensorSource& source, bool bidirectional) {
  EmbeddingSpec spec;
  spec.pooling = bidirectional ? Pooling::kMean : Pooling::kLast;
  if (source.format() == ModelFormat::kGguf) {
    ReadGguf(source.metadata(), spec);
  } else if (Status status = ReadFolder(source.path(), spec); !status.ok()) {
    return status;
  }
  return spec;
}

}  // namespace prenorm
