// Tables of rotary frequencies: known values, the same from both kinds of files, refusals.
#include "runtime/model/families/rope.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/loader/gguf.h"
#include "runtime/loader/safetensors.h"
#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

ModelConfig ConfigOf(size_t rope_dim, float theta) {
  ModelConfig config;
  config.rope_dim = rope_dim;
  config.rope_theta = theta;
  config.max_seq_len = 1024;
  return config;
}

Result<RopeTable> TableOf(const TensorSource& source, const ModelConfig& config) {
  ConfigReader reader(source, "llama");
  Binder binder(source);
  binder.UseHfNames({});
  RopeTable table = ReadRope(reader, config, binder);
  if (!reader.status().ok()) return reader.status();
  if (!binder.status().ok()) return binder.status();
  return table;
}

// Of a folder with this config.json.
Result<RopeTable> FromJson(const std::string& json, const ModelConfig& config) {
  const fs::path folder = fs::path(testing::TempDir()) / ("prenorm_rope_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << json;
  std::string header = R"({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // Data must be aligned.
  const uint64_t length = header.size();
  std::ofstream weights(folder / "model.safetensors", std::ios::binary);
  weights.write(reinterpret_cast<const char*>(&length), sizeof(length));
  weights << header << std::string(4, '\0');
  weights.close();
  const Result<SafetensorsFolder> opened = SafetensorsFolder::Open(folder.string(), FileAccess::kRead);
  fs::remove_all(folder);
  if (!opened.ok()) return opened.status();
  return TableOf(*opened, config);
}

Result<RopeTable> FromGguf(const GgufWriter& writer, const ModelConfig& config) {
  const std::vector<uint8_t> bytes = writer.Build();
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m.gguf");
  if (!file.ok()) return file.status();
  return TableOf(*file, config);
}

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1.0, 1e-6) << "frequency " << i;
}

TEST(RopeTableTest, Llama31ScalesLongWavelengthsOnly) {  // F20
  const Result<RopeTable> table = FromJson(
      R"({"rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}})",
      ConfigOf(64, 500000.0f));
  ASSERT_TRUE(table.ok()) << table.status().message();
  const std::vector<float>& found = table->inv_freq;
  std::vector<double> expected(32);
  for (size_t i = 0; i < 32; ++i) expected[i] = std::pow(500000.0, -2.0 * static_cast<double>(i) / 64.0);
  expected[15] = 0.00129054793;
  expected[16] = 0.000429556797;
  expected[17] = 9.70828783e-05;
  for (size_t i = 18; i < 32; ++i) expected[i] /= 32.0;
  ExpectNear(found, expected);
  EXPECT_EQ(table->magnitude, 1.0f);
}

TEST(RopeTableTest, GgufDivisorsAreApplied) {  // F20
  std::vector<float> divisors(8, 1.0f);
  divisors[7] = 4.0f;
  const ModelConfig config = ConfigOf(16, 10000.0f);
  const Result<RopeTable> plain = FromGguf(GgufWriter(), config);
  const Result<RopeTable> divided = FromGguf(GgufWriter().TensorF32("rope_freqs.weight", {8}, divisors), config);
  ASSERT_TRUE(plain.ok() && divided.ok());
  EXPECT_EQ(divided->inv_freq[6], plain->inv_freq[6]);
  EXPECT_EQ(divided->inv_freq[7], plain->inv_freq[7] / 4.0f);
  EXPECT_EQ(plain->inv_freq, PlainRope(config, 10000.0f).inv_freq);
}

TEST(RopeTableTest, YarnRaisesTheMagnitudeOnce) {  // F21
  const auto yarn = [](float factor) {
    return GgufWriter()
        .String("llama.rope.scaling.type", "yarn")
        .F32("llama.rope.scaling.factor", factor)
        .U32("llama.rope.scaling.original_context_length", 4096);
  };
  const ModelConfig config = ConfigOf(64, 10000.0f);
  EXPECT_NEAR(FromGguf(yarn(64.0f), config)->magnitude, 1.4158883f, 1e-6f);
  EXPECT_NEAR(FromGguf(yarn(4.0f), config)->magnitude, 1.1386294f, 1e-6f);
  EXPECT_NEAR(FromGguf(yarn(4.0f).F32("llama.rope.scaling.attn_factor", 0.5f), config)->magnitude, 0.5693147f, 1e-6f);
  const Result<RopeTable> folder = FromJson(
      R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})", config);
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  const Result<RopeTable> file = FromGguf(yarn(4.0f), config);
  EXPECT_EQ(folder->inv_freq, file->inv_freq);
  EXPECT_EQ(folder->magnitude, file->magnitude);
  EXPECT_EQ(folder->inv_freq.front(), 1.0f) << "fast frequencies stay";
  EXPECT_EQ(folder->inv_freq.back(), PlainRope(config, 10000.0f).inv_freq.back() / 4.0f) << "slow ones are divided";
}

TEST(RopeTableTest, UnknownScalingAndImpossibleValuesAreRefused) {
  const ModelConfig config = ConfigOf(16, 10000.0f);
  const auto code = [&](const std::string& json) { return FromJson(json, config).status().code(); };
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "longrope", "long_factor": [1, 2]}})"), StatusCode::kBadModel);
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "spiral"}})"), StatusCode::kUnsupported);
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "linear"}})"), StatusCode::kBadModel);
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "linear", "factor": 0}})"), StatusCode::kBadModel);
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "linear", "factor": -2.0}})"), StatusCode::kBadModel);
  EXPECT_EQ(code(R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "mscale": 1.0}})"), StatusCode::kOk);
  EXPECT_EQ(code(R"({"rope_scaling": null})"), StatusCode::kOk);
  const std::vector<float> zeros(8, 0.0f);
  EXPECT_EQ(FromGguf(GgufWriter().TensorF32("rope_freqs.weight", {8}, zeros), config).status().code(),
            StatusCode::kBadModel);
  EXPECT_EQ(FromGguf(GgufWriter().TensorF32("rope_freqs.weight", {4}, {1, 1, 1, 1}), config).status().code(),
            StatusCode::kBadModel);
}

}  // namespace
}  // namespace prenorm
