// A quantized file holds what the recipe says, in a form that the loader reads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "runtime/loader/gguf.h"
#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class QuantizeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("quantize ") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    from_ = (folder_ / "from.gguf").string();
    to_ = (folder_ / "to.gguf").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void WriteFrom(const GgufWriter& writer) {
    const std::vector<uint8_t> bytes = writer.Build();
    std::ofstream(from_, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  fs::path folder_;
  std::string from_, to_;
};

std::vector<float> Ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = (static_cast<float>(i * 37 % 101) - 50.0f) / 64.0f;
  return values;
}

GgufWriter Model() {
  GgufWriter writer;
  writer.String("general.architecture", "llama")
      .U32("llama.block_count", 8)
      .U32("general.file_type", 0)
      .Strings("tokenizer.ggml.tokens", {"a", "", "b"})
      .Numbers<float>("tokenizer.ggml.scores", 6, {1.0f, 2.0f})
      .Number<uint16_t>("split.count", 2, 1)
      .TensorF32("token_embd.weight", {256, 2}, Ramp(512));
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    writer.TensorF32(layer + "attn_norm.weight", {256}, Ramp(256))
        .TensorF32(layer + "attn_v.weight", {256, 1}, Ramp(256))
        .TensorF32(layer + "attn_q.weight", {96, 2}, Ramp(192));
  }
  return writer;
}

TEST_F(QuantizeFileTest, FollowsTheRecipeAndSaysWhereItDeparts) {
  WriteFrom(Model());
  const Result<QuantizeReport> report = QuantizeFile(from_, to_, {.recipe = "Q4_K_M", .progress = nullptr});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0], "2 matrices became Q5_0 instead of Q4_K: the rows are no multiple of 256");

  const Result<GgufFile> file = GgufFile::Open(to_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->Find("token_embd.weight")->dtype, DType::kQ6_K) << "it is the output matrix too";
  EXPECT_EQ(file->Find("blk.0.attn_v.weight")->dtype, DType::kQ6_K) << "in the first eighth";
  EXPECT_EQ(file->Find("blk.1.attn_v.weight")->dtype, DType::kQ4_K);
  EXPECT_EQ(file->Find("blk.1.attn_q.weight")->dtype, DType::kQ5_0);
  EXPECT_EQ(file->Find("blk.1.attn_norm.weight")->dtype, DType::kF32);
  uint64_t bytes = 0;
  for (const TensorInfo& tensor : file->tensors()) bytes += tensor.bytes;
  EXPECT_EQ(report->bytes_after, bytes);

  const Metadata& meta = file->metadata();
  EXPECT_EQ(meta.U64("general.file_type"), 15u);
  EXPECT_EQ(meta.U64("general.quantization_version"), 2u);
  EXPECT_EQ(meta.String("general.architecture"), "llama");
  EXPECT_FALSE(meta.Has("split.count"));
  const StringArray tokens = *meta.Strings("tokenizer.ggml.tokens");
  EXPECT_EQ(std::vector<std::string_view>(tokens.begin(), tokens.end()), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(meta.Numbers("tokenizer.ggml.scores")->F32(1), 2.0f);
}

TEST_F(QuantizeFileTest, HoldsTheRowsThatTheEncoderGives) {
  WriteFrom(Model());
  ASSERT_TRUE(QuantizeFile(from_, to_, {.recipe = "Q8_0", .progress = nullptr}).ok());
  const Result<GgufFile> file = GgufFile::Open(to_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const TensorInfo* tensor = file->Find("token_embd.weight");
  std::vector<uint8_t> expected(tensor->row_bytes());
  const std::vector<float> ramp = Ramp(512);
  QuantizeRow(DType::kQ8_0, ramp.data() + 256, 256, expected.data());
  EXPECT_EQ(std::memcmp(tensor->data + tensor->row_bytes(), expected.data(), expected.size()), 0);

  const Result<QuantizeReport> again = QuantizeFile(to_, from_, {.recipe = "Q4_0", .progress = nullptr});
  EXPECT_EQ(again.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(again.status().message().find("token_embd.weight"), std::string::npos);
}

TEST_F(QuantizeFileTest, WritesTheSameBytesWithAnyNumberOfThreads) {
  WriteFrom(Model());
  const auto file_of = [&](int threads) {
    const Result<QuantizeReport> report =
        QuantizeFile(from_, to_, {.recipe = "Q5_K_M", .progress = nullptr, .threads = threads});
    EXPECT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->threads, threads);
    std::ifstream in(to_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string one = file_of(1);
  EXPECT_GT(one.size(), 1000u);
  EXPECT_EQ(file_of(2), one);
  EXPECT_EQ(file_of(7), one);
}

TEST_F(QuantizeFileTest, LeavesNothingBehindWhenItFails) {
  WriteFrom(Model());
  const auto cancel = [](float) { return false; };
  EXPECT_EQ(QuantizeFile(from_, to_, {.recipe = "Q8_0", .progress = cancel}).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(QuantizeFile(from_, from_, {}).status().code(), StatusCode::kInvalidArgument);
  const Status unknown = QuantizeFile(from_, to_, {.recipe = "Q9_9", .progress = nullptr}).status();
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("Q4_K_M"), std::string::npos) << "lists the recipes";
  EXPECT_EQ(QuantizeFile(from_, (folder_ / "no/such/folder.gguf").string(), {}).status().code(), StatusCode::kIo);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1u) << "only the model that was there";
}

}  // namespace
}  // namespace prenorm
