// Tiny models of tests/golden/families.json, written as GGUF files and as Hugging Face folders. Weights are functions
// of their names, the same that tests/golden/make_families.py gave to transformers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace prenorm {

/// Value i is offset + amplitude * u, u in [-1, 1) from the upper 24 bits of splitmix64(fnv1a64(name) + i).
inline std::vector<float> HashedValues(const std::string& name, size_t count, float offset, float amplitude) {
  uint64_t seed = 0xCBF29CE484222325u;
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = seed + i + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    const float u = static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
    const float scaled = amplitude * u;
    values[i] = offset + scaled;
  }
  return values;
}

/// A tensor as in the Hugging Face folder.
struct HashedTensor {
  std::string hf, gguf, op;
  std::vector<uint64_t> shape;  // Slowest first.
  std::vector<float> values;
};

class HashedModel {
 public:
  explicit HashedModel(const nlohmann::json& golden) : golden_(golden) {
    for (const auto& entry : golden["tensors"]) {
      const auto layers =
          entry["hf"].get<std::string>().find('#') == std::string::npos ? 1 : golden["layers"].get<int>();
      for (int layer = 0; layer < layers; ++layer) AddLayer(entry, layer);
    }
  }

  /// Stores the values of Hugging Face tensor `from` a second time.
  void CopyTensor(const std::string& from, const std::string& to) {
    for (const HashedTensor& tensor : tensors_) {
      if (tensor.hf != from) continue;
      HashedTensor copy = tensor;
      copy.hf = to;
      tensors_.push_back(std::move(copy));
      return;
    }
  }

  /// Ends of Hugging Face names: `from` becomes `to`.
  void Rename(const std::string& from, const std::string& to) {
    for (HashedTensor& tensor : tensors_) {
      if (tensor.hf.ends_with(from)) tensor.hf.replace(tensor.hf.size() - from.size(), from.size(), to);
    }
  }

  const std::vector<HashedTensor>& tensors() const { return tensors_; }

  /// Multiplies the values of Hugging Face tensor `name`.
  void Scale(const std::string& name, float factor) {
    for (HashedTensor& tensor : tensors_) {
      if (tensor.hf != name) continue;
      for (float& value : tensor.values) value *= factor;
    }
  }

  /// Joins the matrices of a layer's experts: "gate_up_proj" and "down_proj" of a folder, "ffn_gate_up_exps" of a file.
  void FuseExperts() {
    std::vector<HashedTensor> kept;
    std::map<std::string, HashedTensor> joined;  // by new name
    for (const HashedTensor& tensor : tensors_) {
      const size_t at = tensor.hf.find(".experts.");
      if (at == std::string::npos) {
        kept.push_back(tensor);
        continue;
      }
      const bool down = tensor.hf.find("down_proj") != std::string::npos;
      if (tensor.hf.find("up_proj") != std::string::npos) continue;  // Taken with its gate.
      HashedTensor& all = joined[tensor.hf.substr(0, at) + ".experts." + (down ? "down_proj" : "gate_up_proj")];
      all.hf = tensor.hf.substr(0, at) + ".experts." + (down ? "down_proj" : "gate_up_proj");
      all.gguf = down ? tensor.gguf : tensor.gguf.substr(0, tensor.gguf.find("ffn_")) + "ffn_gate_up_exps.weight";
      const uint64_t experts = all.shape.empty() ? 1 : all.shape[0] + 1;
      all.shape = {experts, tensor.shape[0] * (down ? 1 : 2), tensor.shape[1]};
      all.values.insert(all.values.end(), tensor.values.begin(), tensor.values.end());
      if (down) continue;
      std::string up = tensor.hf;
      up.replace(up.find("gate_proj"), 9, "up_proj");
      for (const HashedTensor& other : tensors_) {
        if (other.hf == up) all.values.insert(all.values.end(), other.values.begin(), other.values.end());
      }
    }
    for (auto& [name, tensor] : joined) kept.push_back(std::move(tensor));
    tensors_ = std::move(kept);
  }

  /// `folder` gets config.json, model.safetensors and tokenizer.json.
  void WriteFolder(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    Write(folder / "config.json", golden_["config"].dump());
    Write(folder / "tokenizer.json",
          R"({"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})");
    nlohmann::json header;
    std::string data;
    for (const HashedTensor& tensor : tensors_) {
      const size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
      header[tensor.hf] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const uint64_t length = text.size();
    Write(folder / "model.safetensors",
          std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data);
  }

  /// `change` may alter the keys before they are written.
  void WriteGguf(const std::filesystem::path& path,
                 const std::function<void(nlohmann::json& keys)>& change = {}) const {
    GgufWriter writer;
    writer.String("general.architecture", golden_["architecture"].get<std::string>())
        .String("tokenizer.ggml.model", "gpt2")
        .String("tokenizer.ggml.pre", "smollm")
        .Strings("tokenizer.ggml.tokens", {"a", "b", "c"})
        .Numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1})
        .Strings("tokenizer.ggml.merges", {});
    nlohmann::json keys = golden_["keys"];
    if (change) change(keys);
    for (const auto& [key, value] : keys.items()) {
      if (value[0] == "u32")
        writer.U32(key, value[1].get<uint32_t>());
      else if (value[0] == "f32")
        writer.F32(key, value[1].get<float>());
      else
        writer.String(key, value[1].get<std::string>());
    }
    if (golden_.contains("rope_divisors")) {
      const auto divisors = golden_["rope_divisors"].get<std::vector<float>>();
      writer.TensorF32("rope_freqs.weight", {divisors.size()}, divisors);
    }
    for (const char* kind : {"short", "long"}) {
      if (!golden_.contains("rope_factors")) break;
      const auto divisors = golden_["rope_factors"][kind].get<std::vector<float>>();
      writer.TensorF32(std::string("rope_factors_") + kind + ".weight", {divisors.size()}, divisors);
    }
    for (size_t i = 0; i < tensors_.size(); ++i) AddToGguf(i, writer);
    const std::vector<uint8_t> bytes = writer.Build();
    Write(path, std::string(bytes.begin(), bytes.end()));
  }

 private:
  static void Write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  static std::string Replaced(std::string text, char mark, int number) {
    const size_t at = text.find(mark);
    return at == std::string::npos ? text : text.replace(at, 1, std::to_string(number));
  }

  void AddLayer(const nlohmann::json& entry, int layer) {
    const std::string op = entry["op"];
    const auto& config = golden_["config"];
    const int experts = op != "stack" ? 1 : config.value("num_local_experts", config.value("num_experts", 1));
    for (int expert = 0; expert < experts; ++expert) {
      HashedTensor tensor;
      tensor.hf = Replaced(Replaced(entry["hf"], '#', layer), '@', expert);
      tensor.gguf = Replaced(entry["gguf"], '#', layer);
      tensor.op = op;
      tensor.shape = entry["shape"].get<std::vector<uint64_t>>();
      size_t count = 1;
      for (const uint64_t extent : tensor.shape) count *= extent;
      tensor.values = HashedValues(tensor.hf, count, entry["offset"], entry["amplitude"]);
      tensors_.push_back(std::move(tensor));
    }
  }

  // What a converter does to one tensor, or to those of all experts, which follow one another.
  void AddToGguf(size_t i, GgufWriter& writer) const {
    const HashedTensor& tensor = tensors_[i];
    std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    std::vector<float> values = tensor.values;
    if (tensor.op == "stack") {
      if (i > 0 && tensors_[i - 1].gguf == tensor.gguf) return;
      size_t end = i + 1;
      for (; end < tensors_.size() && tensors_[end].gguf == tensor.gguf; ++end) {
        values.insert(values.end(), tensors_[end].values.begin(), tensors_[end].values.end());
      }
      dims.push_back(end - i);
    } else if (tensor.op == "plus_one") {
      for (float& value : values) value += 1.0f;
    } else if (tensor.op == "transpose") {
      for (size_t c = 0; c < dims[0]; ++c) {
        for (size_t r = 0; r < dims[1]; ++r) values[c * dims[1] + r] = tensor.values[r * dims[0] + c];
      }
      std::swap(dims[0], dims[1]);
    } else if (tensor.op == "drop_unused") {  // Positions of RoBERTa up to the padding's.
      const size_t rows = golden_["config"]["pad_token_id"].get<size_t>() + 1;
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rows * dims[0]));
      dims[1] -= rows;
    } else if (tensor.op == "permute") {
      Permute(tensor, values);
    }
    writer.RawF32(tensor.gguf, dims, values);
  }

  void Permute(const HashedTensor& tensor, std::vector<float>& values) const {
    const auto& config = golden_["config"];
    const bool key = tensor.hf.find("k_proj") != std::string::npos;
    const size_t heads = config[key ? "num_key_value_heads" : "num_attention_heads"];
    const size_t rows = tensor.shape[0], cols = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
    const size_t head_dim = rows / heads, half = head_dim / 2;
    for (size_t row = 0; row < rows; ++row) {
      const size_t in_head = row % head_dim;
      const size_t to = row - in_head + in_head % half * 2 + in_head / half;
      for (size_t c = 0; c < cols; ++c) values[to * cols + c] = tensor.values[row * cols + c];
    }
  }

  const nlohmann::json& golden_;
  std::vector<HashedTensor> tensors_;
};

/// A model with tied embeddings as a folder, and in another folder the same with a stored copy as its output.
inline void WriteTiedAndStored(nlohmann::json golden, const std::filesystem::path& tied,
                               const std::filesystem::path& stored) {
  HashedModel(golden).WriteFolder(tied);
  golden["config"]["tie_word_embeddings"] = false;
  HashedModel model(golden);
  model.CopyTensor("model.embed_tokens.weight", "lm_head.weight");
  model.WriteFolder(stored);
}

}  // namespace prenorm
