// Limits of tokenizers one above, and at their value where that takes no gigabytes. Steps of the regular expressions
// that models bring: pretokenizer_test.cc.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "prenorm/tokenizer.h"
#include "runtime/limits.h"
#include "runtime/tokenizer/charsmap.h"
#include "runtime/tokenizer/json_spec.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

std::string Error(const Status& status) { return status.message(); }

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TokenizerLimitsTest, IdsAndBytesOfTokens) {
  const auto with_token = [](const std::string& text, size_t id) {
    const std::string json =
        R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [{"content": ")" + text +
        R"(", "id": )" + std::to_string(id) + R"(, "special": true}]})";
    Result<TokenizerSpec> spec = SpecFromTokenizerJson(json, "tokenizer.json");
    if (!spec.ok()) return Error(spec.status());
    return Error(BuildTokenizer(std::move(spec).value()).status());
  };
  EXPECT_EQ(with_token(std::string(kMaxTokenBytes, 'x'), 1), "");
  EXPECT_TRUE(Says(with_token(std::string(kMaxTokenBytes + 1, 'x'), 1), "65537 bytes, more than 65536"));
  EXPECT_TRUE(Says(with_token("x", kMaxTokens), "has the id 16777216"));
}

TEST(TokenizerLimitsTest, MergesAndNestingOfATokenizer) {
  TokenizerSpec spec;
  spec.tokens = {"a"};
  spec.merges.resize(kMaxMerges + 1);  // Refused before they are read.
  EXPECT_TRUE(Says(Error(BuildTokenizer(std::move(spec)).status()), "more than 33554432 merges"));
  const auto nested = [](int depth) {
    std::string normalizer = R"({"type": "NFC"})";
    for (int i = 0; i < depth; ++i) normalizer = R"({"type": "Sequence", "normalizers": [)" + normalizer + "]}";
    return Error(SpecFromTokenizerJson(
                     R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": )" + normalizer + "}",
                     "tokenizer.json")
                     .status());
  };
  EXPECT_EQ(nested(kMaxTokenizerDepth), "");
  EXPECT_TRUE(Says(nested(kMaxTokenizerDepth + 1), "Sequence"));
}

// A tokenizer.json of characters with `parts` beside its model, on `text`.
std::string JsonError(const std::string& parts, const std::string& text = "a",
                      const std::string& model = R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []})") {
  Result<TokenizerSpec> spec = SpecFromTokenizerJson(R"({"model": )" + model + parts + "}", "tokenizer.json");
  if (!spec.ok()) return Error(spec.status());
  const Result<std::unique_ptr<Tokenizer>> tokenizer = BuildTokenizer(std::move(spec).value());
  return tokenizer.ok() ? Error((*tokenizer)->Encode(text).status()) : Error(tokenizer.status());
}

std::string Sequence(const char* part, const char* list, const std::string& step, size_t count) {
  std::string steps = step;
  for (size_t i = 1; i < count; ++i) steps += ", " + step;
  return std::string(", \"") + part + R"(": {"type": "Sequence", ")" + list + "\": [" + steps + "]}";
}

TEST(TokenizerLimitsTest, StepsOfATokenizerAndWhatTheyMake) {
  const auto normalizer = [](const std::string& step, size_t count) {
    return Sequence("normalizer", "normalizers", step, count);
  };
  const auto cuts = [](const std::string& step, size_t count) {
    return Sequence("pre_tokenizer", "pretokenizers", step, count);
  };
  const std::string lower = R"({"type": "Lowercase"})", digits = R"({"type": "Digits"})";
  EXPECT_EQ(JsonError(normalizer(lower, kMaxTokenizerSteps) + cuts(digits, kMaxTokenizerSteps)), "");
  EXPECT_TRUE(Says(JsonError(normalizer(lower, kMaxTokenizerSteps + 1)), "more than 64 steps"));
  EXPECT_TRUE(Says(JsonError(cuts(digits, kMaxTokenizerSteps + 1)), "more than 64 steps"));

  // A byte may become 64 and a MiB: twenty doublings give a MiB, one more is too much. The same of marks of spaces.
  const std::string doubles = R"({"type": "Replace", "pattern": {"String": "b"}, "content": "bb"})";
  const std::string doubles_by_regex = R"({"type": "Replace", "pattern": {"Regex": "b"}, "content": "bb"})";
  const std::string marks = R"({"type": "Metaspace", "replacement": "  ", "prepend_scheme": "never", "split": false})";
  EXPECT_EQ(JsonError(normalizer(doubles, 20), "b"), "");
  EXPECT_TRUE(Says(JsonError(normalizer(doubles, 21), "b"), "more than 1048640"));
  EXPECT_TRUE(Says(JsonError(normalizer(doubles_by_regex, 21), "b"), "more than 1048640"));
  EXPECT_EQ(JsonError(cuts(marks, 20), " "), "");
  EXPECT_TRUE(Says(JsonError(cuts(marks, 21), " "), "more than 1048640"));
}

TEST(TokenizerLimitsTest, BytesOfSearchedTokens) {
  const auto unigram = [](size_t bytes) {
    return JsonError("", "ab",
                     R"({"type": "Unigram", "vocab": [["a", 0], [")" + std::string(bytes, 'x') + R"(", 0]]})");
  };
  EXPECT_EQ(unigram(kMaxSearchedTokenBytes), "");
  EXPECT_TRUE(Says(unigram(kMaxSearchedTokenBytes + 1), "token 1 has 513 bytes, more than 512"));
}

TEST(TokenizerLimitsTest, IdsOfASmallFile) {
  const auto with_id = [](size_t id) {
    return JsonError("", "a",
                     R"({"type": "BPE", "vocab": {"a": 0, "b": )" + std::to_string(id) + R"(}, "merges": []})");
  };
  EXPECT_EQ(with_id(kMaxIdsOfAFile - 1), "");
  EXPECT_TRUE(Says(with_id(kMaxIdsOfAFile), "has the id 65536: a file of this size has ids from 0 to 65535"));
}

// Two to the power of 18 steps at each place with so much text behind it, all in vain.
TEST(TokenizerLimitsTest, MatchesThatTakeMoreThanTheUsualSteps) {
  const std::string expensive =
      R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:[^#]|[^!]){18}(?=#)|[ab]"}, "behavior": "Isolated"})";
  EXPECT_EQ(JsonError(expensive, std::string(kLongRegexMatches, 'a')), "");
  EXPECT_TRUE(Says(JsonError(expensive, std::string(kLongRegexMatches + 18, 'a')), "match limit"));
}

TEST(TokenizerLimitsTest, BytesOfAText) {
  const auto tokenizer = Tokenizer::Load(TinyModelPath());
  ASSERT_TRUE(tokenizer.ok());
  const char byte = 'x';  // A longer text is refused before it is read.
  EXPECT_TRUE(Says(Error((*tokenizer)->Encode({&byte, kMaxTextBytes + 1}).status()), "2147483647 bytes"));
}

// A table that makes "y" of any number of "x", by a loop in its trie: what is replaced at once ends at the limit.
TEST(TokenizerLimitsTest, BytesThatATableReplacesAtOnce) {
  std::vector<uint32_t> units(512, 0);
  units[0] = 1u << 10;                          // The root: offset 1.
  units[1 ^ 'x'] = 'x' | 1u << 8 | 256u << 10;  // Label x, with a value; the next x is at 257,
  units[(1 ^ 'x') ^ 256] = 0x80000000u | 0;
  units[257] = 'x' | 1u << 8 | static_cast<uint32_t>('x') << 10;  // and each further one there again.
  units[257 ^ 'x'] = 0x80000000u | 0;
  const auto bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string blob(sizeof bytes + bytes, '\0');
  std::memcpy(blob.data(), &bytes, sizeof bytes);
  std::memcpy(blob.data() + sizeof bytes, units.data(), bytes);
  const auto map = Charsmap::Parse(blob + std::string("y\0", 2));
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ((*map)->Apply(std::string(kMaxCharsmapKeyBytes, 'x'), kMaxTextBytes), "y");
  EXPECT_EQ((*map)->Apply(std::string(kMaxCharsmapKeyBytes + 1, 'x'), kMaxTextBytes), "yy");
}

}  // namespace
}  // namespace prenorm
