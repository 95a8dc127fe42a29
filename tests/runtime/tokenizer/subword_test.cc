// WordPiece, unigram, and the normalizers.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "runtime/tokenizer/pretokenizers.h"
#include "tests/runtime/tokenizer/mini_vocabulary.h"

namespace prenorm {
namespace {

using Kind = NormalizerStep::Kind;

std::string Normalized(std::vector<Kind> kinds, std::string text) {
  NormalizerSteps steps;
  for (const Kind kind : kinds) {
    NormalizerStep step;
    step.kind = kind;
    step.left = step.right = true;
    steps.push_back(step);
  }
  const Status status = Normalize(steps, &text);
  return status.ok() ? text : "error: " + status.message();
}

SpecMaker WordPieceMaker(const char* word_prefix, const char* continuing_prefix) {
  SpecMaker maker;
  maker.Add("[UNK]", TokenType::kUnknown);
  maker.Add("[CLS]", TokenType::kControl);
  maker.Add("[SEP]", TokenType::kControl);
  for (const char* word : {"un", "want", "the", "."}) maker.Add(std::string(word_prefix) + word);
  for (const char* part : {"want", "ed", "ing"}) maker.Add(std::string(continuing_prefix) + part);
  TokenizerSpec& spec = maker.spec();
  spec.kind = TokenModelKind::kWordPiece;
  spec.decoder = DecoderKind::kWordPiece;
  spec.drops_space_prefix = true;
  spec.word_prefix = word_prefix;
  spec.continuing_prefix = continuing_prefix;
  spec.unknown = 0;
  spec.prefix = {1};
  spec.suffix = {2};
  Result<SplitSteps> splits = BertSplits();
  EXPECT_TRUE(splits.ok());
  spec.splits = *splits;
  maker.AddNormalizer(Kind::kLowercase);
  return maker;
}

TEST(WordPieceTest, TakesTheLongestTokensFromTheLeft) {
  for (const auto& [word, rest] : {std::pair("", "##"), std::pair("\u2581", "")}) {  // as in BERT's files, as in GGUF
    const auto tokenizer = WordPieceMaker(word, rest).Build();
    EXPECT_EQ(Pieces(*tokenizer, "the unwanted.", {.add_special = true}), "[CLS]| the| un|want|ed| .|[SEP]");
    EXPECT_EQ(Pieces(*tokenizer, "UNwanting thex"), " un|want|ing|[UNK]");
    EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode("unwanted the")), "unwanted the");
    EXPECT_EQ(Pieces(*tokenizer, "   "), "");
  }
}

TEST(WordPieceTest, TooLongWordsAreUnknown) {
  SpecMaker maker = WordPieceMaker("", "##");
  maker.spec().max_word_chars = 6;
  EXPECT_EQ(Pieces(*maker.Build(), "unwant unwanted"), " un|want|[UNK]");
}

SpecMaker UnigramMaker() {
  SpecMaker maker;
  maker.Add("<unk>", TokenType::kUnknown);
  maker.Add("a", TokenType::kNormal, -3);
  maker.Add("b", TokenType::kNormal, -3);
  maker.Add("ab", TokenType::kNormal, -4);
  maker.Add("ba", TokenType::kNormal, -2);
  maker.Add("é", TokenType::kNormal, -5);
  maker.spec().kind = TokenModelKind::kUnigram;
  maker.spec().decoder = DecoderKind::kMarkedSpaces;
  maker.spec().unknown = 0;
  return maker;
}

TEST(UnigramTest, TakesTheSegmentationWithTheHighestSum) {
  const auto tokenizer = UnigramMaker().Build();
  EXPECT_EQ(Pieces(*tokenizer, "ab"), "ab");     // -4 against -6
  EXPECT_EQ(Pieces(*tokenizer, "aba"), "a|ba");  // -5 against ab|a -7
  EXPECT_EQ(Pieces(*tokenizer, "baba"), "ba|ba");
  EXPECT_EQ(Pieces(*tokenizer, "aéxyzb"), "a|é|<unk>|b");
}

TEST(UnigramTest, ScoresMayBeAsFarApartAsFloatsAre) {
  SpecMaker maker = UnigramMaker();
  maker.spec().scores.back() = -std::numeric_limits<float>::max();
  const auto tokenizer = maker.Build();
  const std::string text = "a\u00E9b" + std::string(1000, 'x');
  EXPECT_TRUE(tokenizer->Encode(text).ok());
  for (const float infinite : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    maker.spec().scores.back() = infinite;  // A double of a JSON file may be one as a float; a crash once.
    EXPECT_FALSE(BuildTokenizer(maker.spec()).ok());
  }
}

TEST(UnigramTest, LongTextsAreDone) {  // T16
  const auto tokenizer = UnigramMaker().Build();
  const std::string text(131'072, 'b');
  EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode(text)), text);
}

TEST(NormalizerTest, OnlyTheDeclaredFormIsApplied) {  // T21, T22
  EXPECT_EQ(Normalized({Kind::kNfc}, "Poincare\xCC\x81"), "Poincaré");
  EXPECT_EQ(Normalized({}, "Poincare\xCC\x81"), "Poincare\xCC\x81");
  EXPECT_EQ(Normalized({Kind::kNfkc}, "\uFE30"), "..");
  EXPECT_EQ(Normalized({Kind::kNfc}, "\uFE30"), "\uFE30");
  EXPECT_EQ(Normalized({Kind::kNfd}, "é"), "e\xCC\x81");
  EXPECT_EQ(Normalized({Kind::kNfkd}, "ﬁé"), "fie\xCC\x81");
}

TEST(NormalizerTest, NfcGivesTheSameIds) {  // T21
  SpecMaker maker = TrainedMaker("qwen2", 100);
  maker.AddNormalizer(Kind::kNfc);
  const auto tokenizer = maker.Build();
  EXPECT_EQ(*tokenizer->Encode("Poincare\xCC\x81"), *tokenizer->Encode("Poincaré"));
}

TEST(NormalizerTest, BertsSteps) {
  EXPECT_EQ(Normalized({Kind::kNfd, Kind::kStripAccents, Kind::kLowercase}, "ÀÉİ ß Σ"), "aei ß σ");
  EXPECT_EQ(Normalized({Kind::kCleanText}, std::string("a\t\xC2\xA0"
                                                       "b\0c\x01\xE2\x80\x8E",
                                                       11)),
            "a  bc");
  EXPECT_EQ(Normalized({Kind::kCleanText}, "a\u0378\uE000\u00AD\U0010FFFF"), "a\u0378\U0010FFFF")
      << "unassigned characters stay, private and format ones go";
  EXPECT_EQ(Normalized({Kind::kSpaceCjk}, "a漢字"), "a 漢  字 ");
  EXPECT_EQ(Normalized({Kind::kStrip}, " \n a b\xE3\x80\x80"), "a b");
  EXPECT_EQ(Normalized({Kind::kStrip}, "  "), "");
  EXPECT_EQ(Normalized({Kind::kCollapseSpaces}, "  a   b "), "a b");
}

TEST(NormalizerTest, AddedTokensMayBeFoundInTheNormalizedText) {
  SpecMaker maker = TrainedMaker("smollm", 50);
  AddedToken added;
  added.id = maker.Add("ÉTÉ", TokenType::kUserDefined);
  added.text = "ÉTÉ";
  added.normalized = true;
  maker.spec().added.push_back(added);
  maker.AddNormalizer(Kind::kLowercase);
  EXPECT_EQ(Pieces(*maker.Build(), "Été"), "ÉTÉ");
}

/// A charsmap of one entry, "x" -> "yz", as darts-clone lays it out.
std::string TinyCharsmap() {
  std::vector<uint32_t> units(512, 0);
  units[0] = 1u << 10;                          // root: offset 1
  units[1 ^ 'x'] = 'x' | 1u << 8 | 256u << 10;  // label x, has a leaf, offset 256
  units[(1 ^ 'x') ^ 256] = 0x80000000u | 3;     // value: at byte 3 of the replacements
  std::string blob(4, '\0');
  const auto bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::memcpy(blob.data(), &bytes, 4);
  blob.append(reinterpret_cast<const char*>(units.data()), bytes);
  return blob.append(std::string("ab\0yz\0", 6));
}

TEST(CharsmapTest, ReplacesSequencesAndChecksEveryIndex) {
  const std::string blob = TinyCharsmap();
  const auto map = Charsmap::Parse(blob);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ((*map)->Apply("axbé", kMaxTextBytes), "ayzbé");
  for (const size_t size : {size_t{0}, size_t{3}, size_t{100}}) {
    EXPECT_EQ(Charsmap::Parse(std::string_view(blob).substr(0, size)).status().code(), StatusCode::kBadModel);
  }
  std::string wild = blob;  // offsets far outside
  for (size_t i = 4; i < 4 + 512 * 4; ++i) wild[i] = '\xFF';
  const auto hostile = Charsmap::Parse(wild);
  ASSERT_TRUE(hostile.ok());
  EXPECT_EQ((*hostile)->Apply("axb", kMaxTextBytes), "axb");
}

}  // namespace
}  // namespace prenorm
