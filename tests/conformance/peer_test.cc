// Cases of vocabularies that cannot be in the tree: run where PRENORM_PEER_DIR names a folder with vocab/*.gguf.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/conformance/conformance.h"

namespace prenorm {
namespace {

using Ids = std::vector<TokenId>;

/// The vocabulary of that name; null, with the test skipped, where the folder is absent.
class PeerTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PRENORM_PEER_DIR");
    if (folder == nullptr) GTEST_SKIP() << "set PRENORM_PEER_DIR to a folder with vocab/ggml-vocab-*.gguf to run this";
    folder_ = std::string(folder) + "/vocab";
  }

  const Tokenizer& Load(const std::string& name) {
    auto loaded = LoadGgufTokenizer(folder_ + "/ggml-vocab-" + name + ".gguf");
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.status().message();
      std::abort();
    }
    loaded_.push_back(*std::move(loaded));
    return *loaded_.back().tokenizer;
  }

  static Ids Encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    const auto ids = tokenizer.Encode(text, options);
    EXPECT_TRUE(ids.ok());
    return ids.ok() ? *ids : Ids{};
  }

  std::string folder_;
  std::vector<LoadedTokenizer> loaded_;
};

TEST_F(PeerTest, AllVocabulariesPassCompletely) {
  const std::vector<ConformanceResult> results = RunConformance(folder_);
  EXPECT_GE(results.size(), 6u);
  for (const ConformanceResult& result : results) {
    EXPECT_TRUE(result.ok()) << result.file << ": " << result.passed << " of " << result.cases << " " << result.error
                             << (result.failures.empty() ? "" : result.failures[0]);
  }
}

TEST_F(PeerTest, Llama2DummyPrefix) {  // T1, T28
  const Tokenizer& t = Load("llama-spm");
  EXPECT_EQ(Encode(t, "Hello world"), (Ids{15043, 3186}));
  EXPECT_EQ(Encode(t, " Hello world"), (Ids{29871, 15043, 3186}));
  EXPECT_EQ(Encode(t, "  Hello"), (Ids{259, 15043}));
  EXPECT_EQ(Encode(t, "   Hello"), (Ids{1678, 15043}));
  EXPECT_EQ(Encode(t, "    Hello"), (Ids{268, 15043}));
  EXPECT_EQ(Encode(t, "\n"), (Ids{29871, 13}));
  EXPECT_EQ(Encode(t, ""), Ids{});
  EXPECT_EQ(Encode(t, "", {.add_special = true}), Ids{1});
}

TEST_F(PeerTest, Llama2TextAfterSpecialTokens) {  // T2
  const Tokenizer& t = Load("llama-spm");
  EXPECT_EQ(Encode(t, "a</s>b", {.parse_special = true}), (Ids{263, 2, 289}));
  EXPECT_EQ(Encode(t, "a</s> b", {.parse_special = true}), (Ids{263, 2, 29871, 289}));
}

TEST_F(PeerTest, Llama2ByteFallbackAndSpaces) {  // T10, T20
  const Tokenizer& t = Load("llama-spm");
  EXPECT_EQ(Encode(t, "This is 🦙.cpp", {.add_special = true}),
            (Ids{1, 910, 338, 29871, 243, 162, 169, 156, 29889, 8223}));
  EXPECT_EQ(t.Piece(1678), "   ");
}

TEST_F(PeerTest, Llama3NewlinesMergesAndContractions) {  // T5, T6, T7
  const Tokenizer& t = Load("llama-bpe");
  EXPECT_EQ(Encode(t, "a\n\nb")[1], 271);
  EXPECT_EQ(Encode(t, "a\n\n\n\nb")[1], 1038);
  EXPECT_EQ(Encode(t, " Việt"), Ids{101798});
  EXPECT_TRUE(t.adds_bos());
}

TEST_F(PeerTest, Gpt2AndQwenMergeByRank) {  // T8, T19
  for (const char* name : {"gpt-2", "qwen2"}) {
    const Tokenizer& t = Load(name);
    const Ids ids = Encode(t, "brutalist");
    ASSERT_EQ(ids.size(), 3u);
    EXPECT_EQ(t.Piece(ids[0]), "br");
    EXPECT_EQ(t.Piece(ids[1]), "ut");
    EXPECT_EQ(t.Piece(ids[2]), "alist");
  }
  EXPECT_EQ(Encode(Load("qwen2"), "2024").size(), 4u);
}

TEST_F(PeerTest, QwenNormalizesToNfc) {  // T21
  const Tokenizer& t = Load("qwen2");
  EXPECT_EQ(Encode(t, "Poincare\xCC\x81"), Encode(t, "Poincaré"));
}

TEST_F(PeerTest, Phi3MarkersSwallowTheSpaceAfterThem) {  // T17
  const Tokenizer& t = Load("phi-3");
  const EncodeOptions parse{.parse_special = true};
  EXPECT_EQ(Encode(t, "<|user|>Hello", parse), Encode(t, "<|user|>  Hello", parse));
  EXPECT_EQ(Encode(t, "<|user|>Hello", parse), (Ids{32010, 15043}));
}

TEST_F(PeerTest, EveryVocabularyRoundTrips) {  // T11, T18, T23, T29
  for (const char* name : {"gpt-2", "llama-bpe", "llama-spm", "phi-3"}) {
    const Tokenizer& t = Load(name);
    for (const char* text :
         {"u != v , w . k ?", "This is a test string",
          "👨‍👩‍👧‍👦 ❤️ 🇪🇺 កាន់តែ 한국어 e\xCC\x81", "  two\t\n"}) {
      const Ids ids = Encode(t, text);
      EXPECT_EQ(t.Decode(ids), text) << name;
      StreamDecoder stream(t);
      std::string joined;
      for (const TokenId id : ids) joined += stream.Push(id);
      EXPECT_EQ(joined + stream.Flush(), text) << name;
    }
  }
}

}  // namespace
}  // namespace prenorm
