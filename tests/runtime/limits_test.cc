// Limits of runtime/limits.h one above, and at their value where that takes no gigabytes. Those of templates:
// chat_template_limits_test.cc; of tokenizers: tokenizer/tokenizer_limits_test.cc.
#include "runtime/limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "prenorm/prenorm.h"
#include "prenorm/session.h"
#include "runtime/loader/gguf.h"
#include "runtime/loader/json_metadata.h"
#include "runtime/loader/safetensors_header.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

std::string Error(const std::vector<uint8_t>& bytes) {
  const Result<GgufFile> file = GgufFile::FromMemory(bytes, "m");
  return file.ok() ? "" : file.status().message();
}

std::string Error(const Status& status) { return status.message(); }

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What SECURITY.md promises, row by row.
TEST(LimitsTest, TheTableHasTheirFigures) {
  std::ifstream file(PRENORM_SOURCE_DIR "/SECURITY.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  struct Row {
    std::string what, most;
    std::vector<uint64_t> found, expected;
  };
  const chat_template::Limits chat;
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const Row rows[] = {
      {"metadata keys, tensors of a file", "2^16, 2^20", {kMaxMetadataKeys, kMaxTensors}, {65536, 1048576}},
      {"bytes of a name; dimensions and elements of a tensor",
       "65 535; 4, 2^48",
       {kMaxNameBytes, kMaxTensorDims, kMaxElements},
       {65535, 4, uint64_t{1} << 48}},
      {"alignment of tensor data", "8 bytes to 1 MiB", {kMinAlignment, kMaxAlignment}, {8, kMiB}},
      {"header of a safetensors file; `config.json` and its nesting",
       "100 MB; 64 MiB, 16 objects",
       {kMaxSafetensorsHeader, kMaxFolderJson, kMaxConfigDepth},
       {100'000'000, 64 * kMiB, 16}},
      {"width, layers, heads, experts, context of a model",
       "2^20, 2^12, 2^14, 2^12, 2^28",
       {kMaxWidth, kMaxLayers, kMaxHeads, kMaxExperts, kMaxContext},
       {1048576, 4096, 16384, 4096, 268435456}},
      {"tokens, bytes of one, merges of a vocabulary; nesting of a `tokenizer.json`",
       "2^24, 2^16, 2^25; 16",
       {kMaxTokens, kMaxTokenBytes, kMaxMerges, kMaxTokenizerDepth},
       {16777216, 65536, 33554432, 16}},
      {"ids of a `tokenizer.json`", "2^16, or as many as it has bytes", {kMaxIdsOfAFile}, {65536}},
      {"text given to a tokenizer", "2^31 - 1 bytes", {kMaxTextBytes}, {2147483647}},
      {"a token, and a character of a table, that is tried at every place of a text",
       "512, 512 bytes",
       {kMaxSearchedTokenBytes, kMaxCharsmapKeyBytes},
       {512, 512}},
      {"steps that change it, and that cut it; what one may make of it",
       "64; 64 times its bytes, and 1 MiB",
       {kMaxTokenizerSteps, kMaxTextGrowth, kMaxGrownBytes},
       {64, 64, kMiB}},
      {"a regular expression: steps of a match, depth, memory",
       "20 000, 1 million, 256 MiB",
       {kUsualRegexSteps, kMaxRegexDepth, kMaxRegexHeapKib},
       {20'000, 1'000'000, 256 * 1024}},
      {"matches of a text that may take more steps, and how many",
       "16 and one for 1000 bytes, 20 million",
       {kLongRegexMatches, kBytesOfLongMatch, kMaxRegexSteps},
       {16, 1000, 20'000'000}},
      {"a chat template: source, nesting, depth of evaluation",
       "1 MiB, 100, 400",
       {chat.template_bytes, chat.nesting, chat.depth},
       {kMiB, 100, 400}},
      {"rendering it: steps, all strings and lists, one string, output",
       "2^22, 1 GiB, 64 MiB, 64 MiB",
       {chat.steps, chat.work_bytes, chat.string_bytes, chat.output_bytes},
       {4194304, 1024 * kMiB, 64 * kMiB, 64 * kMiB}},
      {"values in it: items of a range, nesting, width of a field",
       "100 000, 100, 10 000 characters",
       {chat.range_items, chat.value_depth, chat_template::kMaxFieldWidth},
       {100'000, 100, 10'000}},
      {"a call of the C interface: messages, stop texts, biases, tokens made text",
       "2^20, 4096, 2^24, 2^31",
       {kMaxMessages, kMaxStops, kMaxBiases, kMaxDetokenized},
       {1048576, 4096, 16777216, 2147483648}},
      {"a session: tokens evaluated at once, threads", "2^16, 1024", {kMaxChunk, kMaxThreads}, {65536, 1024}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(row.found, row.expected) << row.what;
    EXPECT_TRUE(Says(text, "\n| " + row.what + " | " + row.most + " |\n")) << row.what;
  }
  // Each limit has a row.
  std::ifstream header(PRENORM_SOURCE_DIR "/runtime/limits.h");
  size_t limits = 0, named = 0;
  for (std::string line; std::getline(header, line);) {
    const bool constant = line.starts_with("inline constexpr"), field = line.starts_with("  ") && Says(line, " = ");
    limits += constant || field ? 1 : 0;
  }
  for (const Row& row : rows) named += row.found.size();
  EXPECT_EQ(limits, named) << "a limit of runtime/limits.h has no row";
}

TEST(LimitsTest, MetadataKeys) {
  GgufWriter writer;
  for (uint64_t i = 0; i < kMaxMetadataKeys; ++i) writer.Bool(std::to_string(i), true);
  EXPECT_EQ(Error(writer.Build()), "");
  EXPECT_TRUE(
      Says(Error(writer.Bool("more", true).Build()), "announces 65537 metadata keys; the file has room for 65536"));
}

TEST(LimitsTest, Tensors) {
  GgufWriter writer;
  for (uint64_t i = 0; i < kMaxTensors; ++i) writer.TensorF32(std::to_string(i), {0}, {});
  EXPECT_EQ(Error(writer.Build()), "");
  EXPECT_TRUE(Says(Error(writer.TensorF32("more", {0}, {}).Build()),
                   "announces 1048577 tensors; the file has room for 1048576"));
}

TEST(LimitsTest, Names) {
  const auto named = [](size_t key, size_t tensor) {
    return GgufWriter().Bool(std::string(key, 'k'), true).TensorF32(std::string(tensor, 't'), {1}, {1}).Build();
  };
  EXPECT_EQ(Error(named(kMaxNameBytes, kMaxNameBytes)), "");
  EXPECT_TRUE(Says(Error(named(kMaxNameBytes + 1, 1)), "is too long"));
  EXPECT_TRUE(Says(Error(named(1, kMaxNameBytes + 1)), "a name of 65536 bytes"));
}

TEST(LimitsTest, Alignment) {
  const auto aligned = [](uint32_t alignment) {
    GgufWriter writer;
    writer.alignment = alignment;
    return writer.U32("general.alignment", alignment).TensorF32("t", {1}, {1}).Build();
  };
  EXPECT_EQ(Error(aligned(kMinAlignment)), "");
  EXPECT_EQ(Error(aligned(kMaxAlignment)), "");
  EXPECT_TRUE(Says(Error(aligned(kMinAlignment / 2)), "from 8 to 1048576"));
  EXPECT_TRUE(Says(Error(aligned(kMaxAlignment * 2)), "from 8 to 1048576"));
}

TEST(LimitsTest, ElementsAndDimensionsOfATensor) {
  const auto shaped = [](const std::vector<uint64_t>& dims) { return GgufWriter().RawF32("t", dims, {1}).Build(); };
  EXPECT_FALSE(Says(Error(shaped({1u << 16, 1u << 16, 1u << 16})), "impossibly large")) << "only larger than the file";
  EXPECT_FALSE(Error(shaped({1u << 16, 1u << 16, 1u << 16})).empty());
  EXPECT_TRUE(Says(Error(shaped({1u << 16, 1u << 16, (1u << 16) + 1})), "impossibly large"));
  EXPECT_FALSE(Says(Error(shaped({kMaxElements})), "impossibly large"));
  EXPECT_TRUE(Says(Error(shaped({kMaxElements + 1})), "impossibly large"));
  EXPECT_EQ(Error(shaped({1, 1, 1, 1})), "");
  EXPECT_TRUE(Says(Error(shaped({1, 1, 1, 1, 1})), "5 dimensions"));
}

TEST(LimitsTest, HeaderOfSafetensors) {
  const auto parse = [](uint64_t header_bytes) {
    std::vector<uint8_t> bytes(8 + header_bytes, ' ');
    std::memcpy(bytes.data(), &header_bytes, 8);
    std::memcpy(bytes.data() + 8, "{}", 2);
    std::deque<std::string> names;
    std::vector<TensorInfo> tensors;
    std::vector<std::string> skipped;
    return Error(ParseSafetensors(bytes, "m", 0, names, tensors, skipped));
  };
  EXPECT_EQ(parse(kMaxSafetensorsHeader), "");
  EXPECT_TRUE(Says(parse(kMaxSafetensorsHeader + 1), "100000000"));
}

TEST(LimitsTest, ConfigOfAFolder) {
  const auto nested = [](int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i) text = "{\"a\":" + text + "}";
    std::vector<uint8_t> storage;
    Metadata metadata;
    return Error(ReadJsonMetadata(text, "config.json", storage, metadata));
  };
  EXPECT_EQ(nested(kMaxConfigDepth), "");
  EXPECT_NE(nested(kMaxConfigDepth + 1), "");

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("limits" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "config.json") << "{}";
  std::ofstream(folder / "model.safetensors") << std::string("\2\0\0\0\0\0\0\0{}", 10);
  std::filesystem::resize_file(folder / "config.json", kMaxFolderJson);  // No JSON, then, but small enough to be read.
  EXPECT_FALSE(Says(Error(Model::Load(folder.string()).status()), "too many"));
  std::filesystem::resize_file(folder / "config.json", kMaxFolderJson + 1);
  EXPECT_TRUE(Says(Error(Model::Load(folder.string()).status()), "has 67108865 bytes: too many"))
      << Error(Model::Load(folder.string()).status());
  std::filesystem::remove_all(folder);
}

TEST(LimitsTest, ShapesOfAModel) {
  struct Limit {
    const char* key;
    size_t most;
  };
  for (const auto& [key, most] : {Limit{"embedding_length", kMaxWidth}, Limit{"block_count", kMaxLayers},
                                  Limit{"attention.head_count", kMaxHeads}, Limit{"context_length", kMaxContext},
                                  Limit{"expert_count", kMaxExperts}}) {
    const auto load = [key = std::string(key)](size_t value) {
      GgufWriter writer;
      writer.String("general.architecture", "llama").F32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
      writer.String("tokenizer.ggml.model", "gpt2").String("tokenizer.ggml.pre", "gpt-2");
      writer.Strings("tokenizer.ggml.tokens", {"a"}).Strings("tokenizer.ggml.merges", {});
      writer.U32("llama.attention.key_length", 2).U32("llama.attention.value_length", 2);
      for (const char* name : {"embedding_length", "block_count", "attention.head_count", "context_length",
                               "feed_forward_length", "expert_count"}) {
        writer.U32(std::string("llama.") + name, name == key ? static_cast<uint32_t>(value) : 2);
      }
      const std::vector<uint8_t> bytes = writer.U32("llama.expert_used_count", 1).Build();
      return Error(Model::LoadFromMemory(bytes).status());
    };
    const std::string range = "a size from 1 to " + std::to_string(most);
    EXPECT_NE(load(most), "") << "no weights";
    EXPECT_FALSE(Says(load(most), range)) << key << ": " << load(most);
    EXPECT_TRUE(Says(load(most + 1), range)) << key << ": " << load(most + 1);
  }
}

TEST(LimitsTest, ChunkAndThreadsOfASession) {
  const auto model = Model::Load(TinyModelPath());
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(Session::Create(*model, {.threads = 1, .chunk = kMaxChunk}).ok());
  EXPECT_TRUE(Says(Error(Session::Create(*model, {.threads = 1, .chunk = kMaxChunk + 1}).status()), "1 to 65536"));
  // Where the system grants that many.
  EXPECT_FALSE(Says(Error(Session::Create(*model, {.threads = kMaxThreads}).status()), "out of range"));
  EXPECT_TRUE(Says(Error(Session::Create(*model, {.threads = kMaxThreads + 1}).status()), "1024"));
}

TEST(LimitsTest, StopsBiasesAndMessagesOfACall) {
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load(TinyModelPath().c_str(), nullptr, &model, nullptr), PRENORM_OK);
  prenorm_session* session = nullptr;
  ASSERT_EQ(prenorm_session_new(model, nullptr, &session, nullptr), PRENORM_OK);
  const int32_t prompt = 1;
  const auto generate = [&](size_t stops, size_t biases) {
    const std::vector<const char*> texts(stops, "never seen");
    const size_t there = biases > kMaxBiases ? 1 : biases;  // Too many are refused before they are read.
    const std::vector<int32_t> tokens(there, 1);
    const std::vector<float> values(there, 0.0f);
    prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
    options.max_new_tokens = 1;
    options.stop = texts.data();
    options.n_stop = stops;
    options.bias_tokens = tokens.data();
    options.bias_values = values.data();
    options.n_bias = biases;
    return prenorm_generate(session, &prompt, 1, &options, nullptr, nullptr);
  };
  EXPECT_EQ(generate(kMaxStops, 1), PRENORM_OK);
  EXPECT_EQ(generate(kMaxStops + 1, 1), PRENORM_E_INVALID_ARGUMENT);
  EXPECT_EQ(generate(1, kMaxBiases), PRENORM_OK);
  EXPECT_EQ(generate(1, kMaxBiases + 1), PRENORM_E_INVALID_ARGUMENT);
  size_t n_bytes = 0;
  EXPECT_EQ(prenorm_detokenize(model, &prompt, kMaxDetokenized + 1, 0, nullptr, 0, &n_bytes, nullptr),
            PRENORM_E_INVALID_ARGUMENT);
  // Above the limit for its number, at the limit for its first message.
  prenorm_error* error = prenorm_error_new();
  const prenorm_chat_message message = PRENORM_CHAT_MESSAGE_INIT(nullptr, "hello");
  const auto chat = [&](size_t count) {
    EXPECT_EQ(prenorm_chat(session, &message, count, nullptr, nullptr, nullptr, error), PRENORM_E_INVALID_ARGUMENT);
    return std::string(prenorm_error_message(error));
  };
  EXPECT_TRUE(Says(chat(kMaxMessages), "role")) << chat(kMaxMessages);
  EXPECT_TRUE(Says(chat(kMaxMessages + 1), "expected 1 to 1048576 messages, found 1048577"));
  prenorm_error_free(error);
  prenorm_session_free(session);
  prenorm_model_free(model);
}

}  // namespace
}  // namespace prenorm
