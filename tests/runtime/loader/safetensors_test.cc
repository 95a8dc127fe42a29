// Hugging Face folders: what they give, and what is refused of them.
#include "runtime/loader/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/loader/safetensors_header.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

std::string Safetensors(const std::string& header, size_t data_bytes) {
  std::string padded = header;
  while (padded.size() % 8 != 0) padded += ' ';
  std::string file;
  const uint64_t length = padded.size();
  file.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(padded);
  for (size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i % 64);
  return file;
}

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::path(testing::TempDir()) /
               ("folder of " + std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
                  .string();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write("config.json", R"({"model_type": "llama", "hidden_size": 8})");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
  }
  void ExpectRefused(StatusCode code, std::initializer_list<std::string_view> words) {
    const Status status = SafetensorsFolder::Open(folder_, FileAccess::kMap).status();
    EXPECT_EQ(status.code(), code) << status.message();
    for (const std::string_view word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << "no '" << word << "' in: " << status.message();
    }
  }
  void ExpectHeaderRefused(const std::string& header, size_t data_bytes, StatusCode code,
                           std::initializer_list<std::string_view> words) {
    Write("model.safetensors", Safetensors(header, data_bytes));
    ExpectRefused(code, words);
  }

  std::string folder_;
};

TEST_F(SafetensorsTest, GivesTensorsAndConfig) {
  Write("config.json", R"({"model_type": "llama", "hidden_size": 8, "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
    "rope_scaling": {"factor": 32.0, "rope_type": "llama3"}, "head_dim": null, "eos_token_id": [1, 2],
    "architectures": ["LlamaForCausalLM"], "mixed": [1, 0.5], "odd": [1, "a"], "empty": []})");
  Write("model.safetensors",
        Safetensors(R"({"__metadata__": {"format": "pt"}, "a.weight": {"dtype": "F32", "shape": [2, 3],
          "data_offsets": [0, 24]}, "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
          "ids": {"dtype": "I64", "shape": [1], "data_offsets": [32, 40]}})",
                    40));
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kMapPrivate, FileAccess::kRead}) {
    Result<SafetensorsFolder> opened = SafetensorsFolder::Open(folder_, access);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const SafetensorsFolder model = std::move(*opened);
    ASSERT_EQ(model.tensors().size(), 2u);
    const TensorInfo* a = model.Find("a.weight");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->cols(), 3u) << "dims[0] is the last of the shape";
    EXPECT_EQ(a->rows(), 2u);
    EXPECT_EQ(a->data[4], 4);
    EXPECT_EQ(model.writable(*a) != nullptr, access != FileAccess::kMap);
    EXPECT_EQ(model.Find("b")->dtype, DType::kBF16);
    EXPECT_EQ(model.Find("b")->data[0], 24);
    EXPECT_EQ(model.skipped(), std::vector<std::string>{"ids"});

    const Metadata& config = model.metadata();
    EXPECT_EQ(config.String("model_type"), "llama");
    EXPECT_EQ(config.U64("hidden_size"), 8u);
    EXPECT_EQ(config.F32("rms_norm_eps"), 1e-5f);
    EXPECT_EQ(config.Bool("tie_word_embeddings"), true);
    EXPECT_EQ(config.F32("rope_scaling.factor"), 32.0f);
    EXPECT_EQ(config.String("rope_scaling.rope_type"), "llama3");
    EXPECT_EQ(config.Numbers("eos_token_id")->U64(1), 2u);
    EXPECT_EQ(*config.Strings("architectures")->begin(), "LlamaForCausalLM");
    EXPECT_EQ(config.Numbers("mixed")->F32(1), 0.5f);
    EXPECT_EQ(config.String("odd"), R"([1,"a"])");  // There, but no list.
    for (const char* absent : {"head_dim", "empty"}) EXPECT_FALSE(config.Has(absent)) << absent;
  }
}

TEST_F(SafetensorsTest, LoadsScalarsAndEmptyTensors) {  // F16
  Write("model.safetensors", Safetensors(R"({"scalar": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
          "empty": {"dtype": "F32", "shape": [3, 0], "data_offsets": [4, 4]}})",
                                         4));
  const Result<SafetensorsFolder> model = SafetensorsFolder::Open(folder_, FileAccess::kMap);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->Find("scalar")->elements(), 1u);
  EXPECT_EQ(model->Find("empty")->elements(), 0u);
}

TEST_F(SafetensorsTest, RefusesHeaderLengths) {  // F12
  for (const uint64_t length : {uint64_t{0}, uint64_t{1000}, uint64_t{100'000'001}, ~uint64_t{0}}) {
    std::string file = Safetensors("{}", 16);
    std::memcpy(file.data(), &length, sizeof(length));
    Write("model.safetensors", file);
    ExpectRefused(StatusCode::kBadModel, {"model.safetensors", std::to_string(length)});
  }
  Write("model.safetensors", "abc");
  ExpectRefused(StatusCode::kBadModel, {"model.safetensors"});
}

TEST_F(SafetensorsTest, RefusesOffsetsThatDoNotFitTheShape) {  // F13
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [1000, 1000], "data_offsets": [0, 4]}})", 4,
                      StatusCode::kBadModel, {"'t'", "4000000"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [32, 8], "data_offsets": [0, 65536]}})", 65536,
                      StatusCode::kBadModel, {"'t'", "1024", "65536"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}})", 16, StatusCode::kBadModel,
                      {"'t'"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16, 32]}})", 32,
                      StatusCode::kBadModel, {"'t'"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [18446744073709551615, 2], "data_offsets": [0, 16]}})", 16,
                      StatusCode::kBadModel, {"'t'", "large"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}})", 16, StatusCode::kBadModel,
                      {"'t'"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [1, 1, 1, 1, 4], "data_offsets": [0, 16]}})", 16,
                      StatusCode::kBadModel, {"'t'", "5 dimensions"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})", 15, StatusCode::kBadModel,
                      {"'t'", "cut short"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
    "u": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]}})",
                      32, StatusCode::kBadModel, {"'u'", "overlap"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [4], "data_offsets": [2, 18]}})", 32, StatusCode::kUnsupported,
                      {"'t'", "align"});
}

TEST_F(SafetensorsTest, RefusesTypesAndTextsItCannotRead) {
  ExpectHeaderRefused(R"({"t": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}})", 4,
                      StatusCode::kUnsupported, {"'t'", "F8_E4M3"});
  ExpectHeaderRefused(R"({"t": 1})", 4, StatusCode::kBadModel, {"'t'"});
  ExpectHeaderRefused(R"([1])", 4, StatusCode::kBadModel, {"JSON"});
  ExpectHeaderRefused(R"({"t": )", 4, StatusCode::kBadModel, {"JSON"});
  ExpectHeaderRefused(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    "t": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
                      8, StatusCode::kBadModel, {"'t'", "same name"});
  Write("config.json", "[]");
  ExpectHeaderRefused("{}", 0, StatusCode::kBadModel, {"config.json"});
  Write("config.json", std::string(40, '{'));
  ExpectHeaderRefused("{}", 0, StatusCode::kBadModel, {"config.json"});
}

TEST_F(SafetensorsTest, RefusesFoldersWithoutAModel) {  // F8
  ExpectRefused(StatusCode::kNotFound, {"no model folder", "model.safetensors"});
  Write("adapter_config.json", "{}");
  ExpectRefused(StatusCode::kNotFound, {"an adapter"});
  Write("pytorch_model.bin", "");
  ExpectRefused(StatusCode::kNotFound, {"pytorch_model.bin"});
  Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 8\n");
  ExpectRefused(StatusCode::kBadModel, {"model.safetensors", "a Git LFS pointer"});
  fs::remove(folder_ + "/config.json");
  ExpectHeaderRefused("{}", 0, StatusCode::kNotFound, {"config.json"});
}

TEST_F(SafetensorsTest, JoinsShards) {
  Write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  Write("one.safetensors", Safetensors(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 4));
  Write("two.safetensors", Safetensors(R"({"b": {"dtype": "F16", "shape": [2], "data_offsets": [4, 8]}})", 8));
  const Result<SafetensorsFolder> model = SafetensorsFolder::Open(folder_, FileAccess::kMapPrivate);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->Find("b")->data[0], 4);
  EXPECT_EQ(model->writable(*model->Find("b")), model->Find("b")->data);

  Write("two.safetensors", Safetensors(R"({"c": {"dtype": "F16", "shape": [2], "data_offsets": [4, 8]}})", 8));
  ExpectRefused(StatusCode::kBadModel, {"two.safetensors", "'b'"});
  Write("two.safetensors", Safetensors(R"({"b": {"dtype": "F16", "shape": [2], "data_offsets": [4, 8]},
    "a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}})",
                                       8));
  ExpectRefused(StatusCode::kBadModel, {"'a'", "same name"});  // F6
  fs::remove(folder_ + "/two.safetensors");
  ExpectRefused(StatusCode::kNotFound, {"two.safetensors"});  // F15
}

TEST_F(SafetensorsTest, RefusesShardsOutsideTheFolder) {  // F14
  for (const std::string name : {"../other/x.safetensors", "/etc/passwd", "..", "", "a\\\\b"}) {
    Write("model.safetensors.index.json", R"({"weight_map": {"the.tensor": ")" + name + R"("}})");
    ExpectRefused(StatusCode::kBadModel, {"the.tensor", "folder"});
  }
  Write("model.safetensors.index.json", "{}");
  ExpectRefused(StatusCode::kBadModel, {"weight_map"});
}

TEST_F(SafetensorsTest, FlippedBitsNeverGetPastAStatus) {
  const std::string whole = Safetensors(R"({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
    "b": {"dtype": "F16", "shape": [4], "data_offsets": [16, 24]}})",
                                        24);
  std::mt19937 random(7);
  size_t accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    std::vector<uint8_t> bytes(whole.begin(), whole.end());
    bytes[random() % (whole.size() - 24)] ^= static_cast<uint8_t>(1u << random() % 8);
    std::deque<std::string> names;
    std::vector<TensorInfo> tensors;
    std::vector<std::string> skipped;
    if (!ParseSafetensors(bytes, "model.safetensors", 0, names, tensors, skipped).ok()) continue;
    ++accepted;
    for (const TensorInfo& tensor : tensors) {
      unsigned sum = 0;
      for (uint64_t i = 0; i < tensor.bytes; ++i) sum += tensor.data[i];
      EXPECT_LE(sum, 64u * 64u);
    }
  }
  EXPECT_LT(accepted, 5000u);
}

}  // namespace
}  // namespace prenorm
