// What is refused of a GGUF file, with which words, and that no damage of any kind gets further than a status.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/loader/gguf.h"
#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

// The status of opening `bytes`, which is copied to memory of exactly that size so that sanitizers see every overrun.
Status OpenStatus(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  return GgufFile::FromMemory(exact, "model.gguf").status();
}

void ExpectRefused(const std::vector<uint8_t>& bytes, StatusCode code, std::initializer_list<std::string_view> words) {
  const Status status = OpenStatus(bytes);
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find("model.gguf"), std::string::npos) << status.message();
  for (const std::string_view word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << "no '" << word << "' in: " << status.message();
  }
}

std::vector<uint8_t> Header(uint64_t n_tensors, uint64_t n_entries) {
  return ByteWriter().Bytes({'G', 'G', 'U', 'F'}).Put<uint32_t>(3).Put(n_tensors).Put(n_entries).bytes;
}

std::vector<uint8_t> OneTensor(uint32_t n_dims, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0) {
  GgufWriter writer;
  writer.RawTensor("the.tensor", n_dims, dims, type, offset);
  std::vector<uint8_t> bytes = writer.Build();
  bytes.resize(bytes.size() + 64);
  return bytes;
}

TEST(GgufRefusalTest, HugeCounts) {  // F1
  ExpectRefused(Header(~uint64_t{0}, 0), StatusCode::kBadModel, {"18446744073709551615", "tensors"});
  ExpectRefused(Header(0, ~uint64_t{0}), StatusCode::kBadModel, {"18446744073709551615", "metadata keys"});
  ExpectRefused(Header(1, 0), StatusCode::kBadModel, {"1 tensors"});
  ByteWriter array;
  array.Bytes(Header(0, 1)).Text("k").Put<uint32_t>(9).Put<uint32_t>(8).Put(~uint64_t{0});
  ExpectRefused(array.bytes, StatusCode::kBadModel, {"'k'"});
  ByteWriter numbers;
  numbers.Bytes(Header(0, 1)).Text("k").Put<uint32_t>(9).Put<uint32_t>(10).Put(uint64_t{1} << 61).Put<uint64_t>(0);
  ExpectRefused(numbers.bytes, StatusCode::kBadModel, {"'k'"});
}

TEST(GgufRefusalTest, StringsBeyondTheFile) {  // F2
  const std::vector<uint8_t> key = ByteWriter().Bytes(Header(0, 1)).Put<uint64_t>(0xFFFFFFFFFFFFu).bytes;
  ASSERT_EQ(key.size(), 32u);
  EXPECT_EQ(OpenStatus(key).code(), StatusCode::kBadModel);
  ByteWriter value;
  value.Bytes(Header(0, 1)).Text("the.key").Put<uint32_t>(8).Put(~uint64_t{0});
  ExpectRefused(value.bytes, StatusCode::kBadModel, {"the.key"});
}

TEST(GgufRefusalTest, SizesThatWrap) {  // F3
  ExpectRefused(OneTensor(2, {~uint64_t{0}, 2}, 0), StatusCode::kBadModel, {"the.tensor", "large"});
  ExpectRefused(OneTensor(2, {1024, (uint64_t{1} << 52) + 1}, 0), StatusCode::kBadModel, {"the.tensor", "large"});
  ExpectRefused(OneTensor(3, {0, uint64_t{1} << 40, uint64_t{1} << 40}, 0), StatusCode::kBadModel, {"the.tensor"});
}

TEST(GgufRefusalTest, TooManyDimensions) {  // F4
  for (const uint32_t n_dims : {5u, 9u, 0xFFFFFFFFu}) {
    ExpectRefused(OneTensor(n_dims, {1, 1, 1, 1, 1}, 0), StatusCode::kBadModel,
                  {"the.tensor", std::to_string(n_dims) + " dimensions"});
  }
}

TEST(GgufRefusalTest, AlignmentsThatAreNone) {  // F5
  for (const uint32_t alignment : {0u, 13u, 1u << 30}) {
    ExpectRefused(GgufWriter().U32("general.alignment", alignment).Build(), StatusCode::kBadModel,
                  {"general.alignment", std::to_string(alignment)});
  }
  ExpectRefused(GgufWriter().String("general.alignment", "32").Build(), StatusCode::kBadModel, {"general.alignment"});
}

TEST(GgufRefusalTest, NamesThatOccurTwice) {  // F6
  ExpectRefused(GgufWriter().TensorF32("twin", {1}, {1}).TensorF32("x", {1}, {1}).TensorF32("twin", {1}, {1}).Build(),
                StatusCode::kBadModel, {"'twin'", "same name"});
  ExpectRefused(GgufWriter().U32("k", 1).U32("j", 1).U32("k", 2).Build(), StatusCode::kBadModel, {"'k'", "twice"});
}

GgufWriter TinyModel() {
  GgufWriter writer;
  writer.String("general.architecture", "llama")
      .Strings("tokens", {"a", "bc", ""})
      .Numbers<float>("scores", 6, {0.0f, -1.0f, -2.0f})
      .Bool("flag", true)
      .TensorF32("first", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .Tensor("second", DType::kQ8_0, {32}, std::vector<uint8_t>(34, 1));
  return writer;
}

TEST(GgufRefusalTest, AFileCutAnywhere) {  // F7
  const std::vector<uint8_t> whole = TinyModel().Build();
  const size_t padding = 64 - 34;  // Behind the last tensor: its absence is tolerated.
  const size_t needed = whole.size() - padding;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const Status status = OpenStatus(cut);
    if (size >= needed) {
      EXPECT_TRUE(status.ok()) << size << ": " << status.message();
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::kBadModel) << "cut to " << size;
    if (size >= needed - 34) {
      EXPECT_NE(status.message().find("second"), std::string::npos) << status.message();
    }
  }
  const std::vector<uint8_t> in_tokens(whole.begin(), whole.begin() + 110);
  EXPECT_NE(OpenStatus(in_tokens).message().find("tokens"), std::string::npos) << OpenStatus(in_tokens).message();
}

TEST(GgufRefusalTest, FilesThatAreNoModel) {  // F8
  const auto text = [](std::string_view t) { return std::vector<uint8_t>(t.begin(), t.end()); };
  ExpectRefused(text("<!DOCTYPE html><html></html>"), StatusCode::kBadModel, {"HTML"});
  ExpectRefused(text("  \n<html>"), StatusCode::kBadModel, {"HTML"});
  ExpectRefused(text(""), StatusCode::kBadModel, {"empty file"});
  ExpectRefused(text("version https://git-lfs.github.com/spec/v1\noid"), StatusCode::kBadModel, {"Git LFS"});
  ExpectRefused(text("PK\x03\x04 etc"), StatusCode::kBadModel, {"ZIP"});
  ExpectRefused(text("{\"a\":1}"), StatusCode::kBadModel, {"JSON"});
  ExpectRefused(text("tjgg\x03"), StatusCode::kBadModel, {"before GGUF"});
  ExpectRefused(text("\x10\x27"), StatusCode::kBadModel, {"no GGUF file"});

  const Result<GgufFile> folder = GgufFile::Open(testing::TempDir());
  EXPECT_EQ(folder.status().code(), StatusCode::kBadModel);
  EXPECT_NE(folder.status().message().find("folder"), std::string::npos);
  const Result<GgufFile> device = GgufFile::Open("/dev/null");
  EXPECT_EQ(device.status().code(), StatusCode::kBadModel);
  EXPECT_NE(device.status().message().find("device"), std::string::npos) << device.status().message();
  const Result<GgufFile> absent = GgufFile::Open("no/such/model.gguf");
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  EXPECT_NE(absent.status().message().find("no/such/model.gguf"), std::string::npos);
}

TEST(GgufRefusalTest, UnknownTensorTypes) {  // F9
  ExpectRefused(OneTensor(1, {32}, 9999), StatusCode::kUnsupported, {"the.tensor", "9999", "supported: F32, F16, "});
  ExpectRefused(OneTensor(1, {256}, 16), StatusCode::kUnsupported, {"the.tensor", "IQ2_XXS"});
}

TEST(GgufRefusalTest, TheOtherByteOrderAndOtherVersions) {  // F10
  ExpectRefused(ByteWriter().Bytes({'G', 'G', 'U', 'F', 0, 0, 0, 3}).Put<uint64_t>(0).Put<uint64_t>(0).bytes,
                StatusCode::kUnsupported, {"byte order"});
  for (const uint32_t version : {0u, 1u, 4u}) {
    GgufWriter writer;
    writer.version = version;
    ExpectRefused(writer.Build(), StatusCode::kUnsupported, {"version " + std::to_string(version)});
  }
}

TEST(GgufRefusalTest, RowsThatAreNoWholeBlocks) {
  ExpectRefused(OneTensor(2, {33, 1}, static_cast<uint32_t>(DType::kQ8_0)), StatusCode::kBadModel,
                {"the.tensor", "33", "Q8_0"});
}

TEST(GgufRefusalTest, OffsetsThatAreWrong) {  // F31
  ExpectRefused(OneTensor(1, {4}, 0, 1 << 20), StatusCode::kBadModel, {"the.tensor"});
  ExpectRefused(OneTensor(1, {4}, 0, ~uint64_t{31}), StatusCode::kBadModel, {"the.tensor"});
  ExpectRefused(OneTensor(1, {4}, 0, 4), StatusCode::kBadModel, {"the.tensor", "alignment"});
  GgufWriter overlap;
  overlap.RawTensor("below", 1, {16}, 0, 0).RawTensor("above", 1, {8}, 0, 32);
  std::vector<uint8_t> bytes = overlap.Build();
  bytes.resize(bytes.size() + 64);
  ExpectRefused(bytes, StatusCode::kBadModel, {"'below'", "'above'", "overlap"});
}

TEST(GgufRefusalTest, NestedArraysAndUnknownValueTypes) {
  ByteWriter nested;
  nested.Bytes(Header(0, 1)).Text("k").Put<uint32_t>(9).Put<uint32_t>(9).Put<uint64_t>(0).Put<uint64_t>(0);
  ExpectRefused(nested.bytes, StatusCode::kUnsupported, {"'k'", "array"});
  ByteWriter unknown;
  unknown.Bytes(Header(0, 1)).Text("k").Put<uint32_t>(77).Put<uint64_t>(0);
  ExpectRefused(unknown.bytes, StatusCode::kBadModel, {"'k'", "77"});
}

TEST(GgufRefusalTest, MemoryThatIsNotAligned) {
  std::vector<uint8_t> bytes = TinyModel().Build();
  bytes.insert(bytes.begin(), 0);
  const Result<GgufFile> file = GgufFile::FromMemory(std::span(bytes).subspan(1), "model.gguf");
  EXPECT_EQ(file.status().code(), StatusCode::kInvalidArgument);
}

// Reads everything that an opened file offers, so that sanitizers see whether it is really there.
uint64_t Touch(const GgufFile& file) {
  uint64_t sum = 0;
  for (const MetaEntry& entry : file.metadata().entries()) {
    if (const auto strings = file.metadata().Strings(entry.key)) {
      for (const std::string_view text : *strings) sum += text.empty() ? 0 : static_cast<uint8_t>(text.back());
    }
    if (const auto numbers = file.metadata().Numbers(entry.key)) {
      for (size_t i = 0; i < numbers->size(); ++i) sum += numbers->U64(i).value_or(0);
    }
    sum += file.metadata().String(entry.key).value_or("").size() + file.metadata().U64(entry.key).value_or(0);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_EQ(file.Find(tensor.name), &tensor);
    EXPECT_EQ(tensor.row_bytes() * tensor.rows(), tensor.bytes);
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += tensor.data[i];
  }
  return sum;
}

TEST(GgufRefusalTest, FlippedBitsNeverGetPastAStatus) {
  const std::vector<uint8_t> whole = TinyModel().Build();
  std::mt19937 random(20240229);
  uint64_t sum = 0;
  size_t accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    std::vector<uint8_t> bytes = whole;
    const size_t flips = 1 + random() % 3;
    for (size_t i = 0; i < flips; ++i) bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    const Result<GgufFile> file = GgufFile::FromMemory(bytes, "model.gguf");
    if (file.ok()) {
      ++accepted;
      sum += Touch(*file);
    }
  }
  EXPECT_GT(accepted, 1000u) << "flips in weights and texts are no damage to the format";
  EXPECT_LT(accepted, 9000u) << "flips in counts and offsets are";
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace prenorm
