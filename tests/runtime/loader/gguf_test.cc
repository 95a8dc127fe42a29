// What a GGUF file gives when it is well-formed.
#include "runtime/loader/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

GgufWriter SmallModel() {
  GgufWriter writer;
  writer.String("general.architecture", "llama")
      .U32("llama.block_count", 2)
      .F32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Bool("tokenizer.ggml.add_bos_token", true)
      .Strings("tokenizer.ggml.tokens", {"<s>", "", "\xC4\xA0hello", std::string("a\0b", 3)})
      .Numbers<int32_t>("tokenizer.ggml.token_type", 5, {3, 1, 1, -7})
      .TensorF32("output_norm.weight", {4}, {1, 2, 3, 4})
      .TensorF32("token_embd.weight", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .Tensor("blk.0.attn_q.weight", DType::kQ8_0, {64, 3}, std::vector<uint8_t>(3 * 2 * 34, 7));
  return writer;
}

std::string WriteTemporary(const std::string& name, const std::vector<uint8_t>& bytes) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return path.string();
}

TEST(GgufFileTest, GivesTypedMetadata) {
  const std::vector<uint8_t> bytes = SmallModel().Build();
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Metadata& meta = file->metadata();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(meta.entries().size(), 6u);
  EXPECT_EQ(meta.String("general.architecture"), "llama");
  EXPECT_EQ(meta.U64("llama.block_count"), 2u);
  EXPECT_EQ(meta.F32("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
  EXPECT_EQ(meta.Bool("tokenizer.ggml.add_bos_token"), true);

  const std::optional<StringArray> tokens = meta.Strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens.has_value());
  const std::vector<std::string_view> expected = {"<s>", "", "\xC4\xA0hello", std::string_view("a\0b", 3)};
  EXPECT_EQ(tokens->size(), expected.size());
  EXPECT_EQ(std::vector<std::string_view>(tokens->begin(), tokens->end()), expected);

  const std::optional<NumberArray> types = meta.Numbers("tokenizer.ggml.token_type");
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ(types->size(), 4u);
  EXPECT_EQ(types->I64(3), -7);
  EXPECT_EQ(types->U64(3), std::nullopt) << "negative";
}

TEST(GgufFileTest, RefusesLossyConversions) {
  GgufWriter writer;
  writer.Number<int32_t>("negative", 5, -1)
      .Number<uint64_t>("large", 10, ~uint64_t{0})
      .Number<double>("wide", 12, 1e300)
      .Number<double>("third", 12, 1.0 / 3.0)
      .Number<int8_t>("byte", 1, -128)
      .U32("one", 1)
      .F32("half", 0.5f)
      .String("text", "7");
  const std::vector<uint8_t> bytes = writer.Build();
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Metadata& meta = file->metadata();
  EXPECT_EQ(meta.U64("negative"), std::nullopt);
  EXPECT_EQ(meta.I64("negative"), -1);
  EXPECT_EQ(meta.F32("negative"), -1.0f);
  EXPECT_EQ(meta.I64("large"), std::nullopt);
  EXPECT_EQ(meta.U64("large"), ~uint64_t{0});
  EXPECT_EQ(meta.F32("wide"), std::nullopt);
  EXPECT_EQ(meta.F32("third"), 1.0f / 3.0f);
  EXPECT_EQ(meta.I64("byte"), -128);
  EXPECT_EQ(meta.Bool("one"), std::nullopt);
  EXPECT_EQ(meta.U64("half"), std::nullopt);
  EXPECT_EQ(meta.U64("text"), std::nullopt);
  EXPECT_EQ(meta.String("one"), std::nullopt);
  EXPECT_EQ(meta.Strings("text").has_value(), false);
  EXPECT_EQ(meta.Has("absent"), false);
}

TEST(GgufFileTest, GivesTensorsOfBothVersions) {
  for (const uint32_t version : {2u, 3u}) {
    GgufWriter writer = SmallModel();
    writer.version = version;
    const std::vector<uint8_t> bytes = writer.Build();
    const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->version(), version);
    ASSERT_EQ(file->tensors().size(), 3u);
    const TensorInfo* embd = file->Find("token_embd.weight");
    ASSERT_NE(embd, nullptr);
    EXPECT_EQ(embd->cols(), 4u);
    EXPECT_EQ(embd->rows(), 2u);
    EXPECT_EQ(embd->bytes, 32u);
    EXPECT_EQ(reinterpret_cast<const float*>(embd->data)[5], 6.0f);
    EXPECT_EQ(ShapeText(*embd), "[4, 2]");
    const TensorInfo* wq = file->Find("blk.0.attn_q.weight");
    ASSERT_NE(wq, nullptr);
    EXPECT_EQ(wq->dtype, DType::kQ8_0);
    EXPECT_EQ(wq->row_bytes(), 68u);
    EXPECT_EQ(wq->bytes, 204u);
    EXPECT_EQ(file->Find("blk.0.attn_k.weight"), nullptr);
    const Result<const TensorInfo*> missing = file->Require("blk.0.attn_k.weight");
    EXPECT_NE(missing.status().message().find("blk.0.attn_k.weight"), std::string::npos);
    EXPECT_EQ(file->writable(*wq), nullptr) << "borrowed memory is not changed";
  }
}

TEST(GgufFileTest, HonoursTheAlignmentKey) {
  GgufWriter writer;
  writer.alignment = 128;
  writer.U32("general.alignment", 128).TensorF32("a", {1}, {5}).TensorF32("b", {1}, {6});
  const std::vector<uint8_t> bytes = writer.Build();
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->Find("b")->offset - file->Find("a")->offset, 128u);
  EXPECT_EQ(*reinterpret_cast<const float*>(file->Find("b")->data), 6.0f);
}

TEST(GgufFileTest, LoadsScalarsAndEmptyTensors) {  // F16
  GgufWriter writer;
  writer.TensorF32("scalar", {}, {3}).TensorF32("empty", {4, 0}, {}).TensorF32("after", {1}, {9});
  const std::vector<uint8_t> bytes = writer.Build();
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->Find("scalar")->elements(), 1u);
  EXPECT_EQ(*reinterpret_cast<const float*>(file->Find("scalar")->data), 3.0f);
  EXPECT_EQ(file->Find("empty")->elements(), 0u);
  EXPECT_EQ(file->Find("empty")->bytes, 0u);
  EXPECT_EQ(*reinterpret_cast<const float*>(file->Find("after")->data), 9.0f);
}

TEST(GgufFileTest, KeepsLongTensorNamesWhole) {  // F11
  for (const size_t length : {64u, 300u}) {
    const std::string name(length, 'n');
    GgufWriter writer;
    writer.TensorF32(name, {1}, {1}).TensorF32(name + "x", {1}, {2});
    const std::vector<uint8_t> bytes = writer.Build();
    const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(*reinterpret_cast<const float*>(file->Find(name)->data), 1.0f);
    EXPECT_EQ(*reinterpret_cast<const float*>(file->Find(name + "x")->data), 2.0f);
  }
}

TEST(GgufFileTest, OpensAPathWithSpacesAndUnicodeInEveryAccess) {  // R14
  const std::string path = WriteTemporary("Модели ü мод ель.gguf", SmallModel().Build());
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kMapPrivate, FileAccess::kRead}) {
    Result<GgufFile> file = GgufFile::Open(path, {access});
    ASSERT_TRUE(file.ok()) << file.status().message();
    const GgufFile moved = std::move(*file);
    const TensorInfo* norm = moved.Find("output_norm.weight");
    EXPECT_EQ(reinterpret_cast<const float*>(norm->data)[3], 4.0f);
    uint8_t* writable = moved.writable(*norm);
    ASSERT_EQ(writable != nullptr, access != FileAccess::kMap);
    if (writable != nullptr) {
      EXPECT_EQ(writable, norm->data);
      writable[0] ^= 1;
    }
  }
  const Result<GgufFile> again = GgufFile::Open(path);
  EXPECT_EQ(reinterpret_cast<const float*>(again->Find("output_norm.weight")->data)[0], 1.0f) << "file was changed";
  std::filesystem::remove(path);
}

GgufWriter Part(uint16_t number, uint16_t count) {
  GgufWriter writer;
  if (number == 0) writer.String("general.architecture", "llama");
  writer.Number<uint16_t>("split.no", 2, number)
      .Number<uint16_t>("split.count", 2, count)
      .Number<int32_t>("split.tensors.count", 5, 2);
  return writer;
}

TEST(GgufFileTest, OpensAllPartsOfASplitModel) {
  const std::string first = WriteTemporary("split-00001-of-00002.gguf", Part(0, 2).TensorF32("a", {1}, {1}).Build());
  const std::string second = WriteTemporary("split-00002-of-00002.gguf", Part(1, 2).TensorF32("b", {1}, {2}).Build());
  for (const std::string& path : {first, second}) {
    const Result<GgufFile> file = GgufFile::Open(path, {FileAccess::kMapPrivate});
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->metadata().String("general.architecture"), "llama");
    EXPECT_EQ(*reinterpret_cast<const float*>(file->Find("a")->data), 1.0f);
    EXPECT_EQ(*reinterpret_cast<const float*>(file->Find("b")->data), 2.0f);
    EXPECT_EQ(file->Find("b")->file, 1u);
    EXPECT_EQ(file->writable(*file->Find("b")), file->Find("b")->data);
  }
  const auto expect_refused = [&](std::string_view word) {
    const Status status = GgufFile::Open(first).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(word), std::string::npos) << "no '" << word << "' in: " << status.message();
  };
  WriteTemporary("split-00002-of-00002.gguf", Part(1, 2).TensorF32("a", {1}, {2}).Build());
  expect_refused("'a'");  // F6: the same name in two parts
  WriteTemporary("split-00002-of-00002.gguf", Part(0, 2).TensorF32("b", {1}, {2}).Build());
  expect_refused("expected part 2");
  WriteTemporary("split-00002-of-00002.gguf", Part(1, 2).Build());
  expect_refused("expected 2 tensors, found 1");
  std::filesystem::remove(second);
  expect_refused("split-00002-of-00002.gguf");
  const std::vector<uint8_t> part = Part(0, 2).Build();
  EXPECT_EQ(GgufFile::FromMemory(part, "m").status().code(), StatusCode::kUnsupported);
  const std::string renamed = WriteTemporary("renamed.gguf", part);
  EXPECT_NE(GgufFile::Open(renamed).status().message().find("-00001-of-00002.gguf"), std::string::npos);
  std::filesystem::remove(first);
  std::filesystem::remove(renamed);
}

TEST(GgufFileTest, AReadFileSurvivesItsTruncation) {  // R15
  const std::string path = WriteTemporary("prenorm_truncated.gguf", SmallModel().Build());
  const Result<GgufFile> file = GgufFile::Open(path, {FileAccess::kRead});
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(reinterpret_cast<const float*>(file->Find("output_norm.weight")->data)[3], 4.0f);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace prenorm
