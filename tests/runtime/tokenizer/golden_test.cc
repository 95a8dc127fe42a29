// Small tokenizers of every kind against the ids of Hugging Face tokenizers, on generated Unicode text.
// PRENORM_TOKENIZER_GOLDEN names another folder of such files (tests/golden/tokenizer/make_tokenizer_golden.py).
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <string>

#include "runtime/tokenizer/json_spec.h"

namespace prenorm {
namespace {

class TokenizerGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGoldenTest, GivesTheIdsOfTheReference) {
  const char* other = std::getenv("PRENORM_TOKENIZER_GOLDEN");
  const std::string folder = other != nullptr ? other : PRENORM_SOURCE_DIR "/tests/golden/tokenizer";
  const std::string path = folder + "/" + GetParam() + ".json";
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.load(path).get(root), simdjson::SUCCESS) << path;
  Result<TokenizerSpec> spec = SpecFromTokenizerJson(simdjson::minify(root["tokenizer"]), path);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto tokenizer = BuildTokenizer(*std::move(spec));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EncodeOptions options;
  uint64_t most = 0;  // Of an encoder's text, with what stands around it.
  if (root["max_tokens"].get(most) == simdjson::SUCCESS) options = {.add_special = true, .max_tokens = most};
  size_t cases = 0;
  size_t wrong = 0;
  for (const simdjson::dom::element item : root["cases"].get_array()) {
    const std::string_view text = item["text"].get_string();
    std::vector<TokenId> expected;
    for (const simdjson::dom::element id : item["ids"].get_array()) {
      expected.push_back(static_cast<TokenId>(id.get_int64().value()));
    }
    const auto ids = (*tokenizer)->Encode(text, options);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    ++cases;
    if (*ids == expected || ++wrong > 3) continue;  // the first ones tell enough
    EXPECT_EQ(*ids, expected) << text << "\n" << simdjson::minify(item);
  }
  EXPECT_GE(cases, 60u);
  EXPECT_EQ(wrong, 0u) << "of " << cases;
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGoldenTest,
                         testing::Values("byte_level_nfc", "byte_level_whole", "byte_fallback", "word_piece",
                                         "word_piece_ends", "unigram"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace prenorm
