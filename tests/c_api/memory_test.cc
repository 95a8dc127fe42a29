// Case R16: a cache that cannot be allocated is a status with the bytes needed, and the host goes on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <regex>

#include "tests/c_api/c_helpers.h"
#include "tests/support/gguf_writer.h"

namespace prenorm::c_test {
namespace {

// Ones everywhere; the sizes that the cache is made of are those of the case.
std::vector<uint8_t> ModelWithALargeCache() {
  constexpr uint64_t kDim = 32, kFfn = 32, kHeads = 8 * 128;
  constexpr uint32_t kLayers = 32, kContext = 1048576;
  GgufWriter writer;
  writer.String("general.architecture", "llama")
      .String("tokenizer.ggml.model", "gpt2")
      .String("tokenizer.ggml.pre", "smollm")
      .Strings("tokenizer.ggml.tokens", {"a", "b", "c"})
      .Numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1})
      .Strings("tokenizer.ggml.merges", {})
      .U32("llama.embedding_length", kDim)
      .U32("llama.feed_forward_length", kFfn)
      .U32("llama.block_count", kLayers)
      .U32("llama.context_length", kContext)
      .U32("llama.attention.head_count", 8)
      .U32("llama.attention.head_count_kv", 8)
      .U32("llama.attention.key_length", 128)
      .U32("llama.attention.value_length", 128)
      .F32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const auto ones = [&](const std::string& name, uint64_t cols, uint64_t rows) {
    const std::vector<uint64_t> dims = rows == 0 ? std::vector<uint64_t>{cols} : std::vector<uint64_t>{cols, rows};
    writer.RawF32(name, dims, std::vector<float>(cols * (rows == 0 ? 1 : rows), 1.0f));
  };
  ones("token_embd.weight", kDim, 3);
  ones("output_norm.weight", kDim, 0);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    ones(block + "attn_norm.weight", kDim, 0);
    ones(block + "attn_q.weight", kDim, kHeads);
    ones(block + "attn_k.weight", kDim, kHeads);
    ones(block + "attn_v.weight", kDim, kHeads);
    ones(block + "attn_output.weight", kHeads, kDim);
    ones(block + "ffn_norm.weight", kDim, 0);
    ones(block + "ffn_gate.weight", kDim, kFfn);
    ones(block + "ffn_up.weight", kDim, kFfn);
    ones(block + "ffn_down.weight", kFfn, kDim);
  }
  return writer.Build();
}

TEST(MemoryTest, ACacheThatDoesNotFitIsAStatusWithTheBytesNeeded) {  // R16
  const std::vector<uint8_t> bytes = ModelWithALargeCache();
  const Error error(prenorm_error_new());
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error.get()), PRENORM_OK)
      << prenorm_error_message(error.get());
  const Model owner(model);

  // Machines that have the memory are given less of it.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  const rlimit old = limit;
  limit.rlim_cur = rlim_t{64} << 30;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space themselves";
#endif
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
  options.context = 1048576;
  options.cache = PRENORM_CACHE_F16;
  prenorm_session* session = nullptr;
  const prenorm_status status = prenorm_session_new(model, &options, &session, error.get());
  const std::string message = prenorm_error_message(error.get());
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_EQ(status, PRENORM_E_OUT_OF_MEMORY) << message;
  EXPECT_EQ(session, nullptr);
  std::smatch match;
  ASSERT_TRUE(std::regex_search(message, match, std::regex("needs ([0-9]+) bytes"))) << message;
  EXPECT_GE(std::stoull(match[1]), 137438953472u);
  EXPECT_NE(message.find("context"), std::string::npos) << message;

  options.context = 64;
  ASSERT_EQ(prenorm_session_new(model, &options, &session, error.get()), PRENORM_OK)
      << prenorm_error_message(error.get());
  const int32_t token = 1;
  EXPECT_EQ(prenorm_session_eval(session, &token, 1, error.get()), PRENORM_OK) << prenorm_error_message(error.get());
  prenorm_session_free(session);
}

}  // namespace
}  // namespace prenorm::c_test
