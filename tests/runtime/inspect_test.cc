// What inspect says of a model file, and of one that cannot be run.
#include "prenorm/inspect.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

std::string Write(const std::string& name, const std::vector<uint8_t>& bytes) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name)).string();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return path;
}

// A Llama of 2 layers, 2 heads of 4 over 1 key-value head, width 8, 3 tokens.
GgufWriter TinyLlama(const std::string& architecture, uint64_t embedding_rows = 3) {
  GgufWriter writer;
  const std::string a = architecture + ".";
  writer.String("general.architecture", architecture)
      .String("general.name", "tiny")
      .U32(a + "block_count", 2)
      .U32(a + "context_length", 16)
      .U32(a + "embedding_length", 8)
      .U32(a + "feed_forward_length", 8)
      .U32(a + "attention.head_count", 2)
      .U32(a + "attention.head_count_kv", 1)
      .F32(a + "attention.layer_norm_rms_epsilon", 1e-5f)
      .String("tokenizer.ggml.model", "gpt2")
      .String("tokenizer.ggml.pre", "smollm")
      .Strings("tokenizer.ggml.tokens", {"<|endoftext|>", "a", "b"})
      .Numbers<int32_t>("tokenizer.ggml.token_type", 5, {3, 1, 1})
      .Strings("tokenizer.ggml.merges", {})
      .U32("tokenizer.ggml.eos_token_id", 0);
  writer.TensorF32("token_embd.weight", {8, embedding_rows}, std::vector<float>(8 * embedding_rows));
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    writer.TensorF32(layer + "attn_norm.weight", {8}, std::vector<float>(8, 1.0f))
        .TensorF32(layer + "attn_q.weight", {8, 8}, std::vector<float>(64))
        .TensorF32(layer + "attn_k.weight", {8, 4}, std::vector<float>(32))
        .TensorF32(layer + "attn_v.weight", {8, 4}, std::vector<float>(32))
        .TensorF32(layer + "attn_output.weight", {8, 8}, std::vector<float>(64))
        .TensorF32(layer + "ffn_norm.weight", {8}, std::vector<float>(8, 1.0f))
        .TensorF32(layer + "ffn_gate.weight", {8, 8}, std::vector<float>(64))
        .TensorF32(layer + "ffn_up.weight", {8, 8}, std::vector<float>(64))
        .TensorF32(layer + "ffn_down.weight", {8, 8}, std::vector<float>(64));
  }
  writer.TensorF32("output_norm.weight", {8}, std::vector<float>(8, 1.0f));
  return writer;
}

bool AnyReason(const Inspection& inspection, std::string_view words) {
  return std::any_of(inspection.reasons.begin(), inspection.reasons.end(),
                     [&](const std::string& reason) { return reason.find(words) != std::string::npos; });
}

TEST(InspectTest, CountsParametersNormsTypesAndMemory) {
  const std::string path = Write("inspect_tiny.gguf", TinyLlama("llama").Build());
  const Result<Inspection> inspected = Inspect(path);
  ASSERT_TRUE(inspected.ok()) << inspected.status().message();
  EXPECT_TRUE(inspected->supported) << (inspected->reasons.empty() ? "" : inspected->reasons[0]);
  EXPECT_EQ(inspected->format, "gguf");
  EXPECT_EQ(inspected->version, 3u);
  EXPECT_EQ(inspected->architecture, "llama");
  EXPECT_EQ(inspected->name, "tiny");
  EXPECT_EQ(inspected->parameters, 24u + 2 * (16 + 5 * 64 + 64) + 8);
  EXPECT_EQ(inspected->norm_parameters, 5u * 8);
  EXPECT_EQ(inspected->memory.weights, 4 * inspected->parameters);
  EXPECT_EQ(inspected->memory.context, 16u);
  EXPECT_EQ(inspected->memory.kv_cache, 16u * 2 * 1 * (4 + 4) * 2);
  EXPECT_EQ(inspected->memory.total, inspected->memory.weights + inspected->memory.kv_cache);
  ASSERT_EQ(inspected->types.size(), 1u);
  EXPECT_EQ(inspected->types[0].tensors, inspected->tensors.size());
  EXPECT_EQ(inspected->tensors[0].shape, (std::vector<uint64_t>{3, 8})) << "slowest dimension first";

  ASSERT_EQ(inspected->norms.size(), 5u);
  EXPECT_EQ(inspected->norms[0].site, "attn_norm");
  EXPECT_EQ(inspected->norms[0].layer, 0);
  EXPECT_EQ(inspected->norms[3].site, "ffn_norm");
  EXPECT_EQ(inspected->norms[3].layer, 1);
  EXPECT_EQ(inspected->norms[4].site, "final_norm");
  EXPECT_EQ(inspected->norms[4].layer, -1);
  for (const InspectedNorm& norm : inspected->norms) {
    EXPECT_EQ(norm.kind, "rms_norm");
    EXPECT_EQ(norm.eps, 1e-5f);
    EXPECT_EQ(norm.size, 8u);
  }
  std::filesystem::remove(path);
}

TEST(InspectTest, ReckonsTheCacheForTheContextAskedFor) {
  const std::string path = Write("inspect_context.gguf", TinyLlama("llama").Build());
  const Result<Inspection> inspected = Inspect(path, {.context = 1000, .kv_type = DType::kF32});
  ASSERT_TRUE(inspected.ok());
  EXPECT_EQ(inspected->memory.kv_cache, 1000u * 2 * 1 * (4 + 4) * 4);
  std::filesystem::remove(path);
}

TEST(InspectTest, NamesAnArchitectureThatIsNotSupported) {  // F29
  const std::string path = Write("inspect_other.gguf", TinyLlama("rwkv99").Build());
  const Result<Inspection> inspected = Inspect(path);
  ASSERT_TRUE(inspected.ok()) << "well-formed: " << inspected.status().message();
  EXPECT_FALSE(inspected->supported);
  EXPECT_TRUE(AnyReason(*inspected, "rwkv99"));
  EXPECT_TRUE(AnyReason(*inspected, "llama")) << "lists what is supported";
  EXPECT_EQ(inspected->norms[0].eps, 1e-5f);

  GgufWriter nameless;
  nameless.U32("a", 1);
  const std::string empty = Write("inspect_nameless.gguf", nameless.Build());
  const Result<Inspection> unnamed = Inspect(empty);
  ASSERT_TRUE(unnamed.ok());
  EXPECT_FALSE(unnamed->supported);
  EXPECT_TRUE(AnyReason(*unnamed, "general.architecture"));
  std::filesystem::remove(path);
  std::filesystem::remove(empty);
}

TEST(InspectTest, NamesBothNumbersWhenTokensExceedTheEmbedding) {  // F30
  const std::string path = Write("inspect_rows.gguf", TinyLlama("llama", 2).Build());
  const Result<Inspection> inspected = Inspect(path);
  ASSERT_TRUE(inspected.ok());
  EXPECT_FALSE(inspected->supported);
  EXPECT_TRUE(AnyReason(*inspected, "2 rows for 3 tokens"));
  std::filesystem::remove(path);
}

TEST(InspectTest, ReadsAModelInMemory) {
  const std::vector<uint8_t> bytes = TinyLlama("llama").Build();
  const Result<Inspection> inspected = InspectMemory(bytes, "embedded");
  ASSERT_TRUE(inspected.ok()) << inspected.status().message();
  EXPECT_TRUE(inspected->supported);
  EXPECT_EQ(inspected->path, "embedded");
  EXPECT_EQ(inspected->tensors.size(), 20u);
}

TEST(InspectTest, PassesTheErrorOfADamagedFileOn) {
  const Result<Inspection> absent = Inspect("no/such/file.gguf");
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace prenorm
