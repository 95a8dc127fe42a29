// Tokenizers from GGUF keys, the tiny model's among them, and keys that do not fit.
#include "runtime/tokenizer/gguf_spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "runtime/loader/gguf.h"
#include "tests/conformance/conformance.h"
#include "tests/runtime/tokenizer/mini_vocabulary.h"
#include "tests/support/gguf_writer.h"

namespace prenorm {
namespace {

/// What a writer's file gives; the bytes live as long as the object.
struct FromWriter {
  explicit FromWriter(const GgufWriter& writer)
      : bytes(writer.Build()), file(GgufFile::FromMemory(bytes, "test.gguf")) {
    if (!file.ok())
      status = file.status();
    else if (auto spec = SpecFromGguf(file->metadata(), "test.gguf"); !spec.ok())
      status = spec.status();
    else if (auto built = BuildTokenizer(*std::move(spec)); !built.ok())
      status = built.status();
    else
      tokenizer = *std::move(built);
  }
  std::vector<uint8_t> bytes;
  Result<GgufFile> file;
  Status status;
  std::unique_ptr<Tokenizer> tokenizer;
};

GgufWriter BpeWriter(const char* pre = "smollm") {
  GgufWriter writer;
  writer.String("general.architecture", "llama").String("tokenizer.ggml.model", "gpt2");
  if (pre != nullptr) writer.String("tokenizer.ggml.pre", pre);
  writer.Strings("tokenizer.ggml.tokens", {"<|im_end|>", "a", "b", "ab", "<|endoftext|>"});
  writer.Numbers<int32_t>("tokenizer.ggml.token_type", 5, {3, 1, 1, 1, 3});
  writer.Strings("tokenizer.ggml.merges", {"a b"});
  return writer;
}

TEST(GgufSpecTest, TinyModelRoundTripsWithoutWarnings) {
  const auto loaded = LoadGgufTokenizer(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Tokenizer& tokenizer = *loaded->tokenizer;
  EXPECT_TRUE(tokenizer.warnings().empty());
  EXPECT_FALSE(tokenizer.end_tokens().empty());
  for (const std::string& text : DifficultTexts()) {
    const auto ids = *tokenizer.Encode(text);
    EXPECT_EQ(tokenizer.Decode(ids), text);
    // The tiny model's vocabulary has all bytes, so no text is longer in tokens than in bytes.
    EXPECT_LE(ids.size(), text.size());
  }
}

TEST(GgufSpecTest, TokenizersLoadWithoutTheirModel) {
  GgufWriter writer = BpeWriter();  // No weights; and nothing runs the architecture.
  const std::string path = testing::TempDir() + "/prenorm_vocabulary_" + std::to_string(getpid()) + ".gguf";
  const std::vector<uint8_t> bytes = writer.String("general.name", "x").Build();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto tokenizer = Tokenizer::Load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(*(*tokenizer)->Encode("abb"), (std::vector<TokenId>{3, 2}));
  const auto file = Tokenizer::Load(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf");
  const auto folder = Tokenizer::Load(PRENORM_SOURCE_DIR "/models/tiny/hf");
  ASSERT_TRUE(file.ok() && folder.ok());
  for (const std::string& text : DifficultTexts()) EXPECT_EQ(*(*file)->Encode(text), *(*folder)->Encode(text)) << text;
  EXPECT_EQ(Tokenizer::Load("no such file").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Tokenizer::Load(testing::TempDir()).status().code(), StatusCode::kNotFound);
}

TEST(GgufSpecTest, EndMarkersByNameWhereTheFileDoesNotListThem) {  // T15
  const auto ends_of = [](std::vector<std::string> tokens) {
    GgufWriter writer;
    writer.String("general.architecture", "llama").String("tokenizer.ggml.model", "gpt2");
    writer.String("tokenizer.ggml.pre", "smollm").Strings("tokenizer.ggml.merges", {});
    writer.Numbers<int32_t>("tokenizer.ggml.token_type", 5, std::vector<int32_t>(tokens.size(), 3));
    writer.Strings("tokenizer.ggml.tokens", tokens);
    const FromWriter made(writer);
    EXPECT_TRUE(made.status.ok()) << made.status.message();
    const auto ends = made.tokenizer->end_tokens();
    return std::vector<TokenId>(ends.begin(), ends.end());
  };
  EXPECT_EQ(ends_of({"a", "<|end|>", "<|user|>", "</s>"}), (std::vector<TokenId>{1, 3}));
  EXPECT_EQ(ends_of({"<|fim_pad|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"}),
            (std::vector<TokenId>{0, 2, 3}));
  // gpt-oss: a turn has several messages, and <|end|> ends one of them only.
  EXPECT_EQ(ends_of({"<|end|>", "<|return|>", "<|call|>", "<|start|>"}), (std::vector<TokenId>{1, 2}));
}

TEST(GgufSpecTest, MaskTokensSwallowTheSpaceBeforeThem) {
  for (const char* pre : {"roberta-bpe", "gpt-2"}) {
    GgufWriter writer;
    writer.String("general.architecture", "bert").String("tokenizer.ggml.model", "gpt2");
    writer.String("tokenizer.ggml.pre", pre).Strings("tokenizer.ggml.merges", {});
    writer.Strings("tokenizer.ggml.tokens", {"a", "\xC4\xA0", "<mask>"});
    writer.Numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 3});
    const FromWriter made(writer);
    ASSERT_TRUE(made.status.ok()) << made.status.message();
    const auto expected = pre == std::string("gpt-2") ? std::vector<TokenId>{0, 1, 2} : std::vector<TokenId>{0, 2};
    EXPECT_EQ(*made.tokenizer->Encode("a <mask>", {.parse_special = true}), expected) << pre;
  }
}

TEST(GgufSpecTest, SpecialIdsAndEndTokens) {  // T15
  GgufWriter writer = BpeWriter();
  writer.U32("tokenizer.ggml.eos_token_id", 4).U32("tokenizer.ggml.eot_token_id", 0);
  writer.U32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF);
  const FromWriter made(writer);
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  EXPECT_EQ(*made.tokenizer->Encode("abb", {.add_special = true}), (std::vector<TokenId>{3, 2}));
  const auto ends = made.tokenizer->end_tokens();
  EXPECT_EQ(std::vector<TokenId>(ends.begin(), ends.end()), (std::vector<TokenId>{0, 4}));
  EXPECT_EQ(made.tokenizer->bos(), -1);
}

TEST(GgufSpecTest, MissingPretokenizerWarnsAndUnknownOneIsRefused) {  // T8
  const FromWriter missing(BpeWriter(nullptr));
  ASSERT_TRUE(missing.status.ok());
  ASSERT_EQ(missing.tokenizer->warnings().size(), 1u);
  EXPECT_NE(missing.tokenizer->warnings()[0].find("tokenizer.ggml.pre"), std::string::npos);
  const FromWriter unknown(BpeWriter("mystery"));
  EXPECT_EQ(unknown.status.code(), StatusCode::kUnsupported);
  EXPECT_NE(unknown.status.message().find("mystery"), std::string::npos);
}

TEST(GgufSpecTest, KeysThatDoNotFitAreRefused) {
  const auto code = [](const GgufWriter& writer) { return FromWriter(writer).status.code(); };
  const auto start = [](const char* model) {
    GgufWriter writer;
    writer.String("tokenizer.ggml.model", model);
    return writer;
  };
  EXPECT_EQ(code(GgufWriter()), StatusCode::kBadModel);
  EXPECT_EQ(code(start("gpt2")), StatusCode::kBadModel);
  EXPECT_EQ(code(start("rwkv").Strings("tokenizer.ggml.tokens", {"a"})), StatusCode::kUnsupported);
  EXPECT_EQ(code(start("gpt2").String("tokenizer.ggml.tokens", "a")), StatusCode::kBadModel);
  EXPECT_EQ(code(start("llama").Strings("tokenizer.ggml.tokens", {"a", "b"})), StatusCode::kBadModel);
  EXPECT_EQ(
      code(start("llama").Strings("tokenizer.ggml.tokens", {"a", "b"}).Numbers<float>("tokenizer.ggml.scores", 6, {1})),
      StatusCode::kBadModel);
  const auto merges = [&](const std::vector<std::string>& list) {
    return code(start("gpt2")
                    .String("tokenizer.ggml.pre", "gpt-2")
                    .Strings("tokenizer.ggml.tokens", {"a", "b", "ab"})
                    .Strings("tokenizer.ggml.merges", list));
  };
  EXPECT_EQ(merges({"a b"}), StatusCode::kOk);
  EXPECT_EQ(merges({"a b", "ab c"}), StatusCode::kBadModel);  // no token "c"
  EXPECT_EQ(merges({"b a"}), StatusCode::kBadModel);          // no token "ba"
  EXPECT_EQ(merges({"ab"}), StatusCode::kBadModel);
  EXPECT_EQ(merges({""}), StatusCode::kBadModel);
  EXPECT_EQ(merges({"a "}), StatusCode::kBadModel);
}

// A value of another type is no default.
TEST(GgufSpecTest, KeysOfOtherTypesAreRefusedByName) {
  const auto refused = [](const GgufWriter& writer, const std::string& key) {
    const FromWriter made(writer);
    EXPECT_EQ(made.status.code(), StatusCode::kBadModel) << key;
    EXPECT_NE(made.status.message().find(key), std::string::npos) << made.status.message();
  };
  refused(BpeWriter().U32("tokenizer.ggml.add_bos_token", 0), "tokenizer.ggml.add_bos_token");
  refused(BpeWriter().String("tokenizer.ggml.eos_token_id", "2"), "tokenizer.ggml.eos_token_id");
  refused(BpeWriter(nullptr).U32("tokenizer.ggml.pre", 1), "tokenizer.ggml.pre");
}

TEST(GgufSpecTest, BosOutsideTheVocabularyIsIgnoredWithAWarning) {
  GgufWriter writer = BpeWriter();
  writer.U32("tokenizer.ggml.bos_token_id", 4711).Bool("tokenizer.ggml.add_bos_token", true);
  const FromWriter made(writer);
  ASSERT_TRUE(made.status.ok());
  EXPECT_EQ(made.tokenizer->bos(), -1);
  EXPECT_FALSE(made.tokenizer->adds_bos());
  ASSERT_EQ(made.tokenizer->warnings().size(), 1u);
}

}  // namespace
}  // namespace prenorm
