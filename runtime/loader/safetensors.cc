// Opens the files of a Hugging Face folder and checks that they belong together.
#include "runtime/loader/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <simdjson.h>

#include "runtime/loader/folder_file.h"
#include "runtime/loader/json_metadata.h"
#include "runtime/loader/safetensors_header.h"

namespace prenorm {
namespace {

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// A plain file name: nothing that leads out of the folder on any system.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\:\0", 4)) == name.npos;
}

}  // namespace

Status SafetensorsFolder::ReadConfig() {
  const std::string path = path_ + "/config.json";
  const Result<std::string> text = ReadFolderFile(path);
  if (!text.ok()) return text.status();
  return ReadJsonMetadata(*text, path, config_storage_, metadata_);
}

Status SafetensorsFolder::AddShard(const std::string& name, FileAccess access) {
  const std::string path = path_ + "/" + name;
  Result<MappedFile> bytes = MappedFile::Open(path, access);
  if (!bytes.ok()) return bytes.status();
  const auto index = static_cast<uint32_t>(files_.size());
  files_.push_back(std::move(*bytes));
  return ParseSafetensors(files_.back().bytes(), path, index, names_, tensors_, skipped_);
}

Status SafetensorsFolder::AddShardsOfIndex(const std::string& index_path, FileAccess access) {
  const Result<std::string> text = ReadFolderFile(index_path);
  if (!text.ok()) return text.status();
  simdjson::dom::parser parser;
  simdjson::dom::object weight_map;
  if (parser.parse(*text)["weight_map"].get(weight_map) != simdjson::SUCCESS) {
    return Status(StatusCode::kBadModel, "the index of the shards lists no tensors\n'" + index_path +
                                             "': expected an object weight_map\nFetch the file again.");
  }
  std::map<std::string, std::vector<std::string_view>> shards;  // file name -> tensors it should hold
  for (const auto& [tensor, value] : weight_map) {
    std::string_view shard;
    if (value.get(shard) != simdjson::SUCCESS || !IsPlainName(shard)) {
      return Status(StatusCode::kBadModel, "a shard is not a file of the model's folder\n'" + index_path + "': '" +
                                               std::string(tensor) + "' is in '" + std::string(shard) + "'");
    }
    shards[std::string(shard)].push_back(tensor);
  }
  for (const auto& [shard, expected] : shards) {
    if (!Exists(path_ + "/" + shard)) {
      return Status(StatusCode::kNotFound, "a shard of the model is missing\n'" + path_ + "' has no '" + shard +
                                               "', which its index names\nDownload the model completely.");
    }
    const size_t before = tensors_.size();
    const size_t skipped_before = skipped_.size();
    if (Status status = AddShard(shard, access); !status.ok()) return status;
    std::vector<std::string_view> found(skipped_.begin() + static_cast<std::ptrdiff_t>(skipped_before), skipped_.end());
    for (size_t i = before; i < tensors_.size(); ++i) found.push_back(tensors_[i].name);
    std::sort(found.begin(), found.end());
    for (const std::string_view name : expected) {
      if (!std::binary_search(found.begin(), found.end(), name)) {
        return Status(StatusCode::kBadModel, "a tensor is missing\n'" + path_ + "/" + shard + "' has no '" +
                                                 std::string(name) + "', which the index places there");
      }
    }
  }
  return Status();
}

Result<SafetensorsFolder> SafetensorsFolder::Open(const std::string& folder, FileAccess access) {
  SafetensorsFolder model(folder);
  const std::string index_path = folder + "/model.safetensors.index.json";
  Status status;
  if (Exists(folder + "/model.safetensors")) {
    status = model.AddShard("model.safetensors", access);
  } else if (Exists(index_path)) {
    status = model.AddShardsOfIndex(index_path, access);
  } else {
    return Status(StatusCode::kNotFound, "'" + folder + "' is no model folder\nneither model.safetensors nor " +
                                             "model.safetensors.index.json is there" +
                                             (Exists(folder + "/pytorch_model.bin")
                                                  ? "\nSave the model as safetensors: pytorch_model.bin is not read."
                                              : Exists(folder + "/adapter_config.json")
                                                  ? "\nThis is an adapter: merge it into its model first."
                                                  : "\nName a GGUF file, or a folder as Hugging Face lays it out."));
  }
  if (status.ok()) status = model.ReadConfig();
  if (status.ok()) status = model.FinishTensors();
  if (!status.ok()) return status;
  return model;
}

}  // namespace prenorm
