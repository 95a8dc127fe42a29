// A Hugging Face folder written as a GGUF file holds what converters write, and is the same model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "prenorm/quantize.h"
#include "runtime/loader/gguf.h"
#include "tests/support/hashed_model.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

const nlohmann::json& Families() {
  static const nlohmann::json families = [] {
    std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
    return nlohmann::json::parse(file);
  }();
  return families;
}

class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("prenorm_convert_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

Status Convert(const std::string& from, const std::string& to, const std::string& recipe = "F32") {
  QuantizeOptions options;
  options.recipe = recipe;
  options.threads = 1;
  return QuantizeFile(from, to, options).status();
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Three tokens, cut as GPT-2 cuts: what the hashed models have is no byte-level tokenizer.
constexpr const char* kByteLevel =
    R"({"added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})";

void ExpectSameTensors(const std::string& a_path, const std::string& b_path) {
  const Result<GgufFile> a = GgufFile::Open(a_path), b = GgufFile::Open(b_path);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->tensors().size(), b->tensors().size());
  for (const TensorInfo& wanted : b->tensors()) {
    const TensorInfo* found = a->Find(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->dims, wanted.dims) << wanted.name;
    EXPECT_EQ(found->n_dims, wanted.n_dims) << wanted.name;
    ASSERT_EQ(found->dtype, wanted.dtype) << wanted.name;
    EXPECT_EQ(std::memcmp(found->data, wanted.data, wanted.bytes), 0) << wanted.name;
  }
}

TEST(HfToGgufTest, EveryFamilyGivesTheTensorsAndLogitsOfItsConverter) {
  const Folder folder;
  size_t converted = 0;
  for (const nlohmann::json& golden : Families()) {
    const std::string name = golden["name"], architecture = golden["architecture"];
    SCOPED_TRACE(name);
    const HashedModel model(golden);
    const std::string from = folder / name, to = folder / (name + ".gguf"),
                      expected = folder / (name + "-expected.gguf");
    model.WriteFolder(from);
    WriteText(from + "/tokenizer.json", kByteLevel);
    const Status status = Convert(from, to);
    if (name == "llama_mscale") {
      EXPECT_EQ(status.code(), StatusCode::kUnsupported) << "GGUF has no keys for it";
      continue;
    }
    const bool known = architecture == "llama" || architecture.starts_with("gemma") ||
                       (architecture.starts_with("qwen") && architecture != "qwen2moe");
    if (!known) {
      EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
      EXPECT_NE(status.message().find(architecture), std::string::npos) << status.message();
      EXPECT_FALSE(fs::exists(to));
      continue;
    }
    ASSERT_TRUE(status.ok()) << status.message();
    model.WriteGguf(expected);
    if (!golden.contains("rope_divisors")) ExpectSameTensors(to, expected);
    const Result<std::shared_ptr<const Model>> a = Model::Load(to), b = Model::Load(from);
    ASSERT_TRUE(a.ok()) << a.status().message();
    ASSERT_TRUE(b.ok()) << b.status().message();
    const auto ids = golden["ids"].get<std::vector<TokenId>>();
    const std::vector<float> x = AllLogits(*MakeSession(*a, {.threads = 1}), ids);
    const std::vector<float> y = AllLogits(*MakeSession(*b, {.threads = 1}), ids);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-4f * std::max(1.0f, std::abs(y[i]))) << i;
    ++converted;
  }
  EXPECT_GE(converted, 8u);
}

TEST(HfToGgufTest, TheTinyModelIsTheFileThatAConverterMade) {
  const Folder folder;
  const std::string to = folder / "tiny.gguf";
  const Status status = Convert(PRENORM_SOURCE_DIR "/models/tiny/hf", to);
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectSameTensors(to, TinyModelPath());
  const Result<GgufFile> a = GgufFile::Open(to), b = GgufFile::Open(TinyModelPath());
  ASSERT_TRUE(a.ok() && b.ok());
  for (const char* key :
       {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template", "general.architecture"}) {
    EXPECT_EQ(a->metadata().String(key), b->metadata().String(key)) << key;
  }
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "llama.block_count",
                          "llama.context_length", "llama.rope.dimension_count", "llama.attention.head_count_kv"}) {
    EXPECT_EQ(a->metadata().U64(key), b->metadata().U64(key)) << key;
  }
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    const std::optional<StringArray> x = a->metadata().Strings(key), y = b->metadata().Strings(key);
    ASSERT_TRUE(x && y) << key;
    EXPECT_TRUE(std::equal(x->begin(), x->end(), y->begin(), y->end())) << key;
  }
  const auto x = a->metadata().Numbers("tokenizer.ggml.token_type"),
             y = b->metadata().Numbers("tokenizer.ggml.token_type");
  ASSERT_TRUE(x && y && x->size() == y->size());
  for (size_t i = 0; i < x->size(); ++i) EXPECT_EQ(x->I64(i), y->I64(i)) << "token " << i;
}

TEST(HfToGgufTest, AFolderIsQuantizedLikeItsFile) {
  const Folder folder;
  ASSERT_TRUE(Convert(PRENORM_SOURCE_DIR "/models/tiny/hf", folder / "a.gguf", "Q4_K_M").ok());
  ASSERT_TRUE(Convert(TinyModelPath(), folder / "b.gguf", "Q4_K_M").ok());
  ExpectSameTensors(folder / "a.gguf", folder / "b.gguf");
}

TEST(HfToGgufTest, WhatGgufCannotSayIsRefusedBeforeAByteIsWritten) {
  const Folder folder;
  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change, const std::string& tokenizer) {
    nlohmann::json golden;
    for (const nlohmann::json& family : Families()) {
      if (family["architecture"] == "qwen2") golden = family;
    }
    change(golden["config"]);
    const HashedModel model(golden);
    model.WriteFolder(folder / "qwen");
    WriteText(folder / "qwen/tokenizer.json", tokenizer);
    const Status status = Convert(folder / "qwen", folder / "qwen.gguf");
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "")) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("qwen.gguf")) << entry.path();
    }
    return status;
  };
  const auto nothing = [](nlohmann::json&) {};
  const Status activation = refusal([](nlohmann::json& config) { config["hidden_act"] = "relu"; }, kByteLevel);
  EXPECT_EQ(activation.code(), StatusCode::kUnsupported);
  EXPECT_NE(activation.message().find("activation"), std::string::npos) << activation.message();
  std::string reversed = kByteLevel;  // Cuts before every "a", as no known pre-tokenizer does.
  reversed.replace(
      reversed.find(R"({"type": "ByteLevel", "add_prefix)"),
      std::string(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})").size(),
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext"},
                       {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})");
  const Status cuts = refusal(nothing, reversed);
  EXPECT_EQ(cuts.code(), StatusCode::kUnsupported);
  EXPECT_NE(cuts.message().find("cuts text"), std::string::npos) << cuts.message();
}

}  // namespace
}  // namespace prenorm
