// Fill-in-the-middle prompts: markers by key and by text, and models without them.
#include "prenorm/infill.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"
#include "tests/support/hashed_model.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

// A model of one layer whose vocabulary is "a", "b", "c" and `markers`, which are control tokens.
std::shared_ptr<const Model> LoadWith(const std::vector<std::string>& markers, const std::vector<uint32_t>& keys) {
  std::vector<std::string> tokens = {"a", "b", "c"};
  tokens.insert(tokens.end(), markers.begin(), markers.end());
  std::vector<int32_t> types(tokens.size(), 3);
  types[0] = types[1] = types[2] = 1;
  GgufWriter writer;
  writer.String("general.architecture", "llama")
      .String("tokenizer.ggml.model", "gpt2")
      .String("tokenizer.ggml.pre", "smollm")
      .Strings("tokenizer.ggml.tokens", tokens)
      .Numbers<int32_t>("tokenizer.ggml.token_type", 5, types)
      .Strings("tokenizer.ggml.merges", {})
      .U32("llama.embedding_length", 32)
      .U32("llama.block_count", 1)
      .U32("llama.attention.head_count", 2)
      .U32("llama.context_length", 64)
      .U32("llama.feed_forward_length", 32)
      .F32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const char* names[] = {"tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
                         "tokenizer.ggml.fim_mid_token_id"};
  for (size_t i = 0; i < keys.size(); ++i) writer.U32(names[i], keys[i]);
  const auto add = [&](const std::string& name, std::vector<uint64_t> dims) {
    const size_t count = dims[0] * (dims.size() > 1 ? dims[1] : 1);
    writer.RawF32(name, dims, HashedValues(name, count, 0.0f, 0.1f));
  };
  add("token_embd.weight", {32, tokens.size()});
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    add("blk.0." + std::string(name) + ".weight", {32, 32});
  }
  for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"})
    add(std::string(name) + ".weight", {32});
  const std::vector<uint8_t> bytes = writer.Build();
  const TemporaryFolder folder;
  Result<std::shared_ptr<const Model>> model =
      Model::Load(folder.Write("infill.gguf", std::string(bytes.begin(), bytes.end())));
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? *model : nullptr;
}

std::vector<TokenId> Prompt(const std::shared_ptr<const Model>& model, const std::string& prefix,
                            const std::string& suffix) {
  if (model == nullptr) return {};
  Result<std::vector<TokenId>> ids = InfillPrompt(*model, prefix, suffix);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids.ok() ? *ids : std::vector<TokenId>();
}

const std::vector<std::string> kMarkers = {"<|fim_suffix|>", "<|fim_middle|>", "<|fim_prefix|>"};

TEST(InfillTest, MarkersByTheirTexts) {
  const auto model = LoadWith(kMarkers, {});
  EXPECT_EQ(Prompt(model, "ab", "c"), (std::vector<TokenId>{5, 0, 1, 3, 2, 4}));
  EXPECT_EQ(Prompt(model, "", ""), (std::vector<TokenId>{5, 3, 4}));
}

TEST(InfillTest, TheFilesKeysComeFirst) {
  EXPECT_EQ(Prompt(LoadWith(kMarkers, {4, 5, 3}), "a", "b"), (std::vector<TokenId>{4, 0, 5, 1, 3}));
  EXPECT_EQ(Prompt(LoadWith(kMarkers, {4, 500, 3}), "a", "b"), (std::vector<TokenId>{5, 0, 3, 1, 4}))
      << "an id past the end";
}

TEST(InfillTest, ModelsWithoutMarkersAreRefusedByName) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const Status status = InfillPrompt(*model, "a", "b").status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("<|fim_prefix|>"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace prenorm
