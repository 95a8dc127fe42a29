// Reader of Hugging Face model folders: config.json with one or more safetensors files.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Reads model.safetensors, or the shards that model.safetensors.index.json lists; generation_config.json, tokenizer
/// files and the like are left to those who use them. metadata() holds config.json.
///
/// Errors  kNotFound for a folder without a model or with a shard missing; kBadModel for damaged files, and for shards
///         that lie outside the folder or lack a tensor of the index; kUnsupported as ParseSafetensors.
class SafetensorsFolder : public TensorSource {
 public:
  static Result<SafetensorsFolder> Open(const std::string& folder, FileAccess access);

  /// Names of integer tensors, which no model uses as weights.
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  explicit SafetensorsFolder(std::string folder) : TensorSource(ModelFormat::kHuggingFace, std::move(folder)) {}
  Status ReadConfig();
  Status AddShard(const std::string& name, FileAccess access);
  Status AddShardsOfIndex(const std::string& index_path, FileAccess access);

  std::deque<std::string> names_;        // what TensorInfo::name refers to
  std::vector<uint8_t> config_storage_;  // what metadata_ refers to
  std::vector<std::string> skipped_;
};

}  // namespace prenorm
