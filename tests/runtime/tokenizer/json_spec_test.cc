// Tokenizers from Hugging Face files: tokenizer.json, the folder around it, SentencePiece models.
#include "runtime/tokenizer/json_spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/loader/json_numbers.h"
#include "runtime/tokenizer/base64.h"
#include "runtime/tokenizer/sentencepiece_spec.h"
#include "runtime/tokenizer/vocab_txt_spec.h"
#include "tests/conformance/conformance.h"
#include "tests/runtime/tokenizer/mini_vocabulary.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {
namespace {

std::unique_ptr<Tokenizer> FromJson(std::string_view json, Status* status = nullptr) {
  Result<TokenizerSpec> spec = SpecFromTokenizerJson(json, "tokenizer.json");
  Status failed = spec.status();
  if (spec.ok()) {
    Result<std::unique_ptr<Tokenizer>> tokenizer = BuildTokenizer(*std::move(spec));
    if (tokenizer.ok()) return *std::move(tokenizer);
    failed = tokenizer.status();
  }
  if (status != nullptr)
    *status = failed;
  else
    ADD_FAILURE() << failed.message();
  return nullptr;
}

StatusCode CodeOf(std::string_view json) {
  Status status;
  FromJson(json, &status);
  return status.code();
}

TEST(JsonSpecTest, TinyFolderAndTinyGgufGiveTheSameIds) {
  Result<TokenizerSpec> spec = SpecFromHfFolder(PRENORM_SOURCE_DIR "/models/tiny/hf");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto folder = BuildTokenizer(*std::move(spec));
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  const auto gguf = LoadGgufTokenizer(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf");
  ASSERT_TRUE(gguf.ok());
  for (const std::string& text : DifficultTexts()) {
    EXPECT_EQ(*(*folder)->Encode(text), *gguf->tokenizer->Encode(text)) << text;
  }
  EXPECT_EQ((*folder)->bos(), gguf->tokenizer->bos());
  EXPECT_TRUE(std::equal((*folder)->end_tokens().begin(), (*folder)->end_tokens().end(),
                         gguf->tokenizer->end_tokens().begin(), gguf->tokenizer->end_tokens().end()));
}

// Ids of Hugging Face tokenizers in the following tests.
using Ids = std::vector<TokenId>;

TEST(JsonSpecTest, AddedTokensOfWholeWordsAreNoPiecesOfTheModel) {
  const auto tokenizer = FromJson(R"({
    "added_tokens": [{"id": 5, "content": "ab", "single_word": true, "normalized": false}],
    "model": {"type": "Unigram", "unk_id": 0,
              "vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["c", -2], ["ca", -2.5]]}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("ab"), (Ids{5}));
  EXPECT_EQ(*tokenizer->Encode("abc"), (Ids{1, 2, 3}));
  EXPECT_EQ(*tokenizer->Encode("ab c"), (Ids{5, 0, 3}));
  EXPECT_EQ(*tokenizer->Encode("aab"), (Ids{1, 1, 2}));
}

TEST(JsonSpecTest, CharactersWithoutTokenVanishBeforeMerging) {
  const auto tokenizer =
      FromJson(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("a?b"), (Ids{2}));
  EXPECT_EQ(*tokenizer->Encode("?"), Ids());
}

TEST(JsonSpecTest, ClassesInsideOfClassesAndNmt) {
  const auto tokenizer = FromJson(R"({
    "normalizer": {"type": "Nmt"},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[^(b|[c]d)]+"}, "behavior": "Isolated"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "ba": 4, " ": 5, "aa": 6},
              "merges": [["b", "a"], ["a", "a"]]}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("aba"), (Ids{0, 1, 0}));
  EXPECT_EQ(*tokenizer->Encode("aacaa"), (Ids{6, 3, 6}));
  EXPECT_EQ(*tokenizer->Encode("a\u200Ba"), (Ids{0, 5, 0}));
  EXPECT_EQ(*tokenizer->Encode("a\x01"
                               "a"),
            (Ids{6}));
}

TEST(JsonSpecTest, WordsOfWhitespaceAreThoseOfRust) {
  const auto tokenizer = FromJson(R"({
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
              "vocab": {"u": 0, "a": 1, "²": 2, "Ⅷ": 3, "##a": 4, "Ⓐ": 5, "##²": 6, "##Ⅷ": 7}}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("a²"), (Ids{1, 2}));
  EXPECT_EQ(*tokenizer->Encode("aⅧa"), (Ids{1, 7, 4}));
  EXPECT_EQ(*tokenizer->Encode("Ⓐa"), (Ids{5, 4}));
}

TEST(JsonSpecTest, ALeadingSpaceComesBeforeALineEndToo) {
  const auto tokenizer = FromJson(R"({
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "use_regex": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1, "Ċ": 2}, "merges": []}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("a"), (Ids{1, 0}));
  EXPECT_EQ(*tokenizer->Encode(" a"), (Ids{1, 0}));
  EXPECT_EQ(*tokenizer->Encode("\na"), (Ids{1, 2, 0}));
}

TEST(JsonSpecTest, AnUnknownPartIsNamedWithThoseThatAreKnown) {
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    Status status;
    FromJson(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, ")" + std::string(part) +
                 R"(": {"type": "Quux"}})",
             &status);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << part;
    EXPECT_NE(status.message().find(std::string(part) + " \"Quux\""), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("supported: Sequence, "), std::string::npos) << status.message();
  }
}

// Llama-2's way of writing SentencePiece BPE: normalizer, no cuts, byte fallback, decoder with Strip.
constexpr std::string_view kLlamaJson = R"({
  "added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                 {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "pre_tokenizer": null,
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
  "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
              {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
    "vocab": {"<unk>": 0, "<s>": 1, "<0xC3>": 2, "<0xA9>": 3, "▁": 4, "a": 5, "b": 6, "ab": 7, "▁ab": 8, "▁▁": 9},
    "merges": ["a b", ["▁", "ab"], "▁ ▁"]}})";

TEST(JsonSpecTest, NumbersBeyond64BitsAreNumbers) {
  constexpr const char* kHuge = "1000000000000000019884624838656";
  EXPECT_EQ(WithLongIntegersAsFloats(kHuge), std::string(kHuge) + ".0");
  EXPECT_EQ(WithLongIntegersAsFloats(std::string("{\"a\": -") + kHuge + ", \"b\": 1}"),
            std::string("{\"a\": -") + kHuge + ".0, \"b\": 1}");
  for (const std::string text :
       {"", "{}", "[1234567890123456789, 0.12345678901234567890123, 1e10]", "[1.5e12345678901234567890123]",
        "\"1000000000000000019884624838656\"", "{\"\\\"12345678901234567890123\": 1}", "\"\\"}) {
    EXPECT_EQ(WithLongIntegersAsFloats(text), text);
  }
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("prenorm_huge_number_" + std::to_string(getpid()));
  fs::copy(PRENORM_SOURCE_DIR "/models/tiny/hf", folder);
  std::ofstream(folder / "tokenizer_config.json")
      << "{\"model_max_length\": " << kHuge << ", \"eos_token\": \"<|im_end|>\"}";
  const Result<TokenizerSpec> spec = SpecFromHfFolder(folder.string());
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  fs::remove_all(folder);
}

TEST(JsonSpecTest, EndTokensAreIdsOrNull) {
  const TemporaryFolder folder;
  std::filesystem::copy(PRENORM_SOURCE_DIR "/models/tiny/hf", folder.path("model"));
  const auto status_with = [&](const std::string& ids) {
    folder.Write("model/generation_config.json", "{\"eos_token_id\": " + ids + "}");
    return SpecFromHfFolder(folder.path("model")).status();
  };
  for (const char* good : {"1", "[1, 2]", "[]", "null", "-1"}) EXPECT_TRUE(status_with(good).ok()) << good;
  for (const char* bad : {"\"1\"", "[1, \"2\"]", "{}", "true", "1.5"}) {
    EXPECT_EQ(status_with(bad).code(), StatusCode::kBadModel) << bad;
    EXPECT_NE(status_with(bad).message().find("generation_config.json, eos_token_id"), std::string::npos);
  }
}

TEST(JsonSpecTest, MergesOnCharactersWithByteFallback) {
  const auto tokenizer = FromJson(kLlamaJson);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("ab", {.add_special = true}), (std::vector<TokenId>{1, 8}));
  EXPECT_EQ(*tokenizer->Encode("  abé"), (std::vector<TokenId>{9, 8, 2, 3}));
  EXPECT_EQ(*tokenizer->Encode("axyb"), (std::vector<TokenId>{4, 5, 0, 6}));
  EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode("  abé")), "  abé");
  EXPECT_EQ(tokenizer->bos(), 1);
}

TEST(JsonSpecTest, UnigramWithMetaspace) {
  const auto tokenizer = FromJson(R"({
    "added_tokens": [{"id": 4, "content": "<mask>", "special": true, "lstrip": true}],
    "normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁a", -2.5], ["▁", -3.0], ["a", -3.5]]}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("a   aa?"), (std::vector<TokenId>{1, 1, 3, 0}));
  EXPECT_EQ(*tokenizer->Encode("a <mask>a", {.parse_special = true}), (std::vector<TokenId>{1, 4, 1}));
}

TEST(JsonSpecTest, WordPieceOfBert) {
  const auto tokenizer = FromJson(R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 6, "content": "new"}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                   "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "ele": 3, "##ve": 4, "!": 5}}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("Élève! x", {.add_special = true}), (std::vector<TokenId>{1, 3, 4, 5, 0, 2}));
  EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode("new eleve new!")), "new eleve new !");
}

TEST(JsonSpecTest, SingleWordTokensNeedABorder) {
  const auto tokenizer = FromJson(R"({"added_tokens": [{"id": 3, "content": "cat", "single_word": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"c": 0, "a": 1, "t": 2, "s": 4}, "merges": []}})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->Encode("cat"), (std::vector<TokenId>{3}));
  EXPECT_EQ(*tokenizer->Encode("cats"), (std::vector<TokenId>{0, 1, 2, 4}));
  EXPECT_EQ(*tokenizer->Encode("\u2490cat"), (std::vector<TokenId>{3})) << "no word, to Rust";
  EXPECT_EQ(*tokenizer->Encode("cat\u2160"), (std::vector<TokenId>{0, 1, 2}));
}

TEST(JsonSpecTest, StripAccentsDropsAllMarksAndBertOnlyThoseWithoutWidth) {
  const std::string model =
      R"("model": {"type": "BPE", "vocab": {"e": 0, "\u0301": 1, "\u09c7": 2, "x": 3}, "merges": []}})";
  const auto all = FromJson(R"({"normalizer": {"type": "StripAccents"}, )" + model);
  const auto bert = FromJson(R"({"normalizer": {"type": "BertNormalizer", "strip_accents": true}, )" + model);
  ASSERT_TRUE(all != nullptr && bert != nullptr);
  EXPECT_EQ(*all->Encode("e\u0301\u09c7x"), (Ids{0, 3}));
  EXPECT_EQ(*bert->Encode("e\u0301\u09c7x"), (Ids{0, 2, 3}));
}

TEST(JsonSpecTest, RefusesWhatItDoesNotKnowByName) {
  EXPECT_EQ(CodeOf("{"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf("[]"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf("{}"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["ab"]}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "Unigram"}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "Unigram", "vocab": {"a": 0}}})"), StatusCode::kBadModel);
  EXPECT_EQ(CodeOf(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}}})"), StatusCode::kUnsupported);
  EXPECT_EQ(CodeOf(R"({"normalizer": {"type": "Magic"}, "model": {"vocab": {"a": 0}, "merges": []}})"),
            StatusCode::kUnsupported);
  EXPECT_EQ(CodeOf(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"},
                       "model": {"vocab": {"a": 0}, "merges": []}})"),
            StatusCode::kUnsupported);
  EXPECT_EQ(SpecFromHfFolder(PRENORM_SOURCE_DIR "/tests").status().code(), StatusCode::kNotFound);
}

/// Protocol-buffer fields, written by hand.
std::string LengthField(int number, std::string_view bytes) {
  return std::string({static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())}).append(bytes);
}
std::string VarintField(int number, char value) {
  std::string out;
  if (number >= 16) out += static_cast<char>((number << 3 & 0x7F) | 0x80);
  out += static_cast<char>(number >= 16 ? number >> 4 : number << 3);
  return out += value;
}
std::string SpmPiece(std::string_view text, float score, char type) {
  std::string bytes = LengthField(1, text) + std::string(1, 2 << 3 | 5);
  bytes.append(reinterpret_cast<const char*>(&score), sizeof(score));
  return LengthField(1, bytes + VarintField(3, type));
}

std::string SpmModel() {
  return SpmPiece("<unk>", 0, 2) + SpmPiece("<s>", 0, 3) + SpmPiece("</s>", 0, 3) + SpmPiece("▁▁", 0, 4) +
         SpmPiece("▁a", -1, 1) + SpmPiece("▁", -2, 1) + SpmPiece("a", -3, 1) + SpmPiece("b", -4, 1) +
         LengthField(2, VarintField(3, 2)) + LengthField(3, VarintField(4, 0));
}

// As BertTokenizer: the words are those of the library's own documentation of the algorithm.
TEST(JsonSpecTest, MembersOfAnotherTypeAreRefusedByName) {
  const auto with = [](const std::string& in_model, const std::string& beside) {
    return R"({"model": {"type": "BPE", "vocab": {"a": 0, "split": 1}, "merges": [])" + in_model + "}" + beside + "}";
  };
  struct Member {
    std::string in_model, beside, expected;
  };
  const Member wrong[] = {
      {R"(, "byte_fallback": "yes")", "", R"(model: "byte_fallback" is neither true nor false)"},
      {R"(, "unk_token": 0)", "", R"(model: "unk_token" is no text)"},
      {"", R"(, "added_tokens": [{"id": 0, "content": "a", "lstrip": 1}])", R"(added_tokens: "lstrip" is neither)"},
      {"", R"(, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": 7}]})",
       R"(normalizer: "prepend" is no text)"},
      {"", R"(, "pre_tokenizer": {"type": "ByteLevel", "use_regex": 0})", R"(pre_tokenizer: "use_regex" is neither)"},
      {"", R"(, "decoder": {"type": ["ByteLevel"]})", R"(decoder: "type" is no text)"},
  };
  for (const Member& member : wrong) {
    Status status;
    FromJson(with(member.in_model, member.beside), &status);
    EXPECT_EQ(status.code(), StatusCode::kBadModel);
    EXPECT_NE(status.message().find(member.expected), std::string::npos) << status.message();
  }
  // Names of tokens are no members, and null is as good as nothing.
  EXPECT_EQ(CodeOf(with(R"(, "unk_token": null)", R"(, "normalizer": {"type": "Prepend", "prepend": null},
      "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}],
                         "special_tokens": {"split": {"id": "split", "ids": [1], "tokens": ["split"]}}})")),
            StatusCode::kOk);
}

TEST(VocabTxtSpecTest, LinesAreTokensAndFlagsAreThoseOfBert) {
  const std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n\xC3\xA9t\xC3\xA9\nete\n!\nA\r\na\n";
  const auto ids = [&](std::string_view text, const VocabTxtOptions& options) {
    Result<TokenizerSpec> spec = SpecFromVocabTxt(lines, options, "vocab.txt");
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    const auto tokenizer = BuildTokenizer(*std::move(spec));
    EXPECT_TRUE(tokenizer.ok());
    return *(*tokenizer)->Encode(text, {.add_special = true});
  };
  EXPECT_EQ(ids("UNaffable! [SEP]", {}), (std::vector<TokenId>{2, 4, 5, 6, 9, 1, 1, 1, 3}));
  EXPECT_EQ(ids("\xC3\xA9t\xC3\xA9 A", {}), (std::vector<TokenId>{2, 8, 11, 3}));
  EXPECT_EQ(ids("\xC3\xA9t\xC3\xA9 A", {.lowercase = false}), (std::vector<TokenId>{2, 7, 10, 3}));
  EXPECT_EQ(ids("\xC3\xA9t\xC3\xA9 A", {.strip_accents = false}), (std::vector<TokenId>{2, 7, 11, 3}));
  EXPECT_EQ(SpecFromVocabTxt("[UNK]\na\n", {}, "vocab.txt").status().code(), StatusCode::kBadModel);
}

TEST(SentencePieceSpecTest, ReadsPiecesOptionsAndUserDefinedSpaces) {
  Result<TokenizerSpec> spec = SpecFromSentencePiece(SpmModel(), "tokenizer.model");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->kind, TokenModelKind::kSpm);
  EXPECT_EQ(spec->bos, 1);
  const auto tokenizer = BuildTokenizer(*std::move(spec));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(*(*tokenizer)->Encode("a a  b?"), (std::vector<TokenId>{4, 4, 3, 5, 7, 0}));
}

TEST(SentencePieceSpecTest, RefusesDamageAtEveryByte) {
  const std::string model = SpmModel();
  EXPECT_EQ(SpecFromSentencePiece("<html>", "x").status().code(), StatusCode::kBadModel);
  size_t read = 0;
  for (size_t size = 0; size < model.size(); ++size) {
    read += SpecFromSentencePiece(std::string_view(model).substr(0, size), "x").ok() ? 1 : 0;
  }
  EXPECT_LE(read, 10u);  // only cuts between fields leave a whole message
}

TEST(Base64Test, DecodesAndRefuses) {
  EXPECT_EQ(DecodeBase64("TWFu"), "Man");
  EXPECT_EQ(DecodeBase64("TWE="), "Ma");
  EXPECT_EQ(DecodeBase64("TQ=="), "M");
  EXPECT_EQ(DecodeBase64("/+8="), "\xFF\xEF");
  EXPECT_EQ(DecodeBase64("T"), std::nullopt);
  EXPECT_EQ(DecodeBase64("T*Fu"), std::nullopt);
}

}  // namespace
}  // namespace prenorm
