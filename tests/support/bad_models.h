// Model files that must be refused, for tests of the interfaces: what the C interface and the command say of them. The
// loader's own tests go further into each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/prenorm.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/small_llama.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {

struct BadModel {
  std::string name;  ///< What is wrong with it.
  std::string path;  ///< A file, or a folder.
  prenorm_status status;
  std::vector<std::string> words;  ///< Of the message.
};

/// Writes them to `folder`.
inline std::vector<BadModel> BadModels(const TemporaryFolder& folder) {
  std::vector<BadModel> models;
  const auto add = [&](const std::string& name, const std::vector<uint8_t>& bytes, std::vector<std::string> words,
                       prenorm_status status = PRENORM_E_BAD_MODEL) {
    models.push_back(
        {name, folder.Write(name + ".gguf", std::string(bytes.begin(), bytes.end())), status, std::move(words)});
  };
  const auto header = [](uint64_t n_tensors, uint64_t n_entries) {
    return ByteWriter().Bytes({'G', 'G', 'U', 'F'}).Put<uint32_t>(3).Put(n_tensors).Put(n_entries);
  };
  const auto tensor = [](uint32_t n_dims, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0) {
    std::vector<uint8_t> bytes = GgufWriter().RawTensor("the.tensor", n_dims, dims, type, offset).Build();
    bytes.resize(bytes.size() + 64);
    return bytes;
  };
  add("too many tensors", header(~uint64_t{0}, 0).bytes, {"18446744073709551615"});
  add("too many keys", header(0, ~uint64_t{0}).bytes, {"18446744073709551615"});
  add("a key beyond the file", header(0, 1).Put<uint64_t>(0xFFFFFFFFFFFFu).bytes, {"metadata keys"});
  add("a text beyond the file", header(0, 1).Text("the.key").Put<uint32_t>(8).Put(~uint64_t{0}).bytes, {"the.key"});
  add("a size that wraps", tensor(2, {~uint64_t{0}, 2}, 0), {"the.tensor", "large"});
  add("a size in bytes that wraps", tensor(2, {1024, (uint64_t{1} << 52) + 1}, 0), {"the.tensor", "large"});
  for (const uint32_t n : {5u, 9u, 0xFFFFFFFFu}) {
    add(std::to_string(n) + " dimensions", tensor(n, {1, 1, 1, 1, 1}, 0),
        {"the.tensor", std::to_string(n) + " dimensions"});
  }
  for (const uint32_t n : {0u, 13u}) {
    add("alignment " + std::to_string(n), GgufWriter().U32("general.alignment", n).Build(), {"general.alignment"});
  }
  add("a name twice", GgufWriter().TensorF32("twin", {1}, {1}).TensorF32("twin", {1}, {1}).Build(), {"'twin'"});
  std::vector<uint8_t> cut = GgufWriter().TensorF32("first", {8}, std::vector<float>(8)).Build();
  cut.resize(cut.size() - 1);
  add("a file cut short", cut, {"first"});
  const std::string html = "<!DOCTYPE html><html></html>";
  add("a page", std::vector<uint8_t>(html.begin(), html.end()), {"HTML"});
  add("nothing", {}, {"empty file"});
  add("an unknown type", tensor(1, {32}, 9999), {"the.tensor", "9999"}, PRENORM_E_UNSUPPORTED);
  add("the other byte order",
      ByteWriter().Bytes({'G', 'G', 'U', 'F', 0, 0, 0, 3}).Put<uint64_t>(0).Put<uint64_t>(0).bytes, {"byte order"},
      PRENORM_E_UNSUPPORTED);
  add("another architecture", GgufWriter().String("general.architecture", "mamba").Build(), {"mamba"},
      PRENORM_E_UNSUPPORTED);
  add("no architecture", GgufWriter().U32("a", 1).Build(), {"general.architecture"}, PRENORM_E_UNSUPPORTED);
  add("fewer rows than tokens", SmallLlama{.embedding_rows = 2}.Build(), {"2 rows", "3 tokens"});
  const std::vector<uint8_t> twin =
      GgufWriter().TensorF32("first", {8}, std::vector<float>(8)).RawTensor("the.tensor", 1, {8}, 0, 0).Build();
  add("overlapping tensors", twin, {"the.tensor"});
  add("an offset beyond", tensor(1, {4}, 0, 1 << 20), {"the.tensor"});
  add("an odd offset", tensor(1, {4}, 0, 4), {"the.tensor", "alignment"});

  const auto safetensors = [&](const std::string& name, uint64_t length, const std::string& json, size_t data,
                               std::vector<std::string> words) {
    std::filesystem::create_directory(folder.path(name));
    folder.Write(name + "/config.json", R"({"model_type": "llama"})");
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    folder.Write(name + "/model.safetensors", bytes + json + std::string(data, '\0'));
    models.push_back({name, folder.path(name), PRENORM_E_BAD_MODEL, std::move(words)});
  };
  for (const uint64_t length : {uint64_t{0}, uint64_t{1000}, uint64_t{100'000'001}}) {
    safetensors("a header of " + std::to_string(length), length, "{}", 16, {"header", std::to_string(length)});
  }
  const std::string wrong = R"({"a": {"dtype": "F32", "shape": [1000, 1000], "data_offsets": [0, 4]}}  )";
  safetensors("a size unlike its shape", wrong.size(), wrong, 4, {"'a'", "4000000"});
  const std::string small = R"({"a": {"dtype": "F32", "shape": [32, 8], "data_offsets": [0, 65536]}})";
  safetensors("a size beyond its shape", small.size(), small, 65536, {"'a'", "1024"});
  const auto indexed = [&](const std::string& name, const std::string& shard, prenorm_status status,
                           std::vector<std::string> words) {
    std::filesystem::create_directory(folder.path(name));
    folder.Write(name + "/config.json", R"({"model_type": "llama"})");
    folder.Write(name + "/model.safetensors.index.json", R"({"weight_map": {"the.tensor": ")" + shard + "\"}}");
    models.push_back({name, folder.path(name), status, std::move(words)});
  };
  indexed("a shard outside", "../other/x.safetensors", PRENORM_E_BAD_MODEL, {"the.tensor", "folder"});
  indexed("a shard that is absent", "model-00002-of-00002.safetensors", PRENORM_E_NOT_FOUND,
          {"model-00002-of-00002.safetensors"});
  return models;
}

}  // namespace prenorm
