// SentencePiece BPE: space prefix, byte fallback, user-defined tokens, decoding.
#include <gtest/gtest.h>

#include "tests/runtime/tokenizer/mini_vocabulary.h"

namespace prenorm {
namespace {

TEST(SpmTest, SpacePrefixIsOneMoreSpace) {  // T1
  const auto tokenizer = SpmMaker().Build();
  EXPECT_EQ(Pieces(*tokenizer, "Hello world"), " Hello| world");
  EXPECT_EQ(Pieces(*tokenizer, " Hello world"), " | Hello| world");
  EXPECT_EQ(Pieces(*tokenizer, "  Hello"), "  | Hello");
  EXPECT_EQ(Pieces(*tokenizer, "   Hello"), "   | Hello");
  EXPECT_TRUE(tokenizer->Encode("")->empty());  // T28
}

TEST(SpmTest, SpacePrefixAlsoAfterSpecialTokens) {  // T2
  const auto tokenizer = SpmMaker().Build();
  EXPECT_EQ(Pieces(*tokenizer, "a</s>b", {.parse_special = true}), " a|</s>| b");
  EXPECT_EQ(Pieces(*tokenizer, "a</s> b", {.parse_special = true}), " a|</s>| | b");
}

TEST(SpmTest, WithoutSpacePrefixThereIsNone) {  // T3
  const auto tokenizer = SpmMaker(false).Build();
  EXPECT_EQ(Pieces(*tokenizer, "<s>Hello</s>", {.parse_special = true}), "<s>|Hello|</s>");
  EXPECT_FALSE(tokenizer->adds_space_prefix());
}

TEST(SpmTest, UserDefinedTokensAreFoundInTheRawText) {  // T4
  SpecMaker maker = SpmMaker(false);
  const TokenId two = maker.Add("  ", TokenType::kUserDefined);
  const TokenId four = maker.Add("    ", TokenType::kUserDefined);
  const auto tokenizer = maker.Build();
  const auto ids = *tokenizer->Encode("a  b    a");
  EXPECT_EQ(ids, (std::vector<TokenId>{maker.Find("a"), two, maker.Find("b"), four, maker.Find("a")}));
  EXPECT_EQ(tokenizer->Decode(ids), "a  b    a");
}

TEST(SpmTest, CharactersWithoutATokenBecomeBytes) {  // T10
  const auto tokenizer = SpmMaker().Build();
  const auto ids = *tokenizer->Encode("a🦙");
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[1], 3 + 0xF0);
  EXPECT_EQ(ids[4], 3 + 0x99);
  EXPECT_EQ(tokenizer->Decode(ids), "a🦙");
}

TEST(SpmTest, TextNeverBecomesByteOrControlTokens) {
  const auto tokenizer = SpmMaker().Build();
  const std::string text = "<s><0x41></s><unk>";
  const auto ids = *tokenizer->Encode(text);
  for (const TokenId id : ids) {
    EXPECT_FALSE(tokenizer->IsControl(id));
    EXPECT_NE(id, 3 + 0x41);
  }
  EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode(text)), text);
}

TEST(SpmTest, StrippingFlagsSwallowSpaceButDoNotDecideMatches) {  // T17
  SpecMaker maker = SpmMaker();
  AddedToken user;
  user.id = maker.Add("<|user|>", TokenType::kControl);
  user.text = "<|user|>";
  user.special = true;
  user.rstrip = true;
  maker.spec().added.push_back(user);
  const auto tokenizer = maker.Build();
  const EncodeOptions parse{.parse_special = true};
  EXPECT_EQ(Pieces(*tokenizer, "<|user|>Hello", parse), "<|user|>| Hello");
  EXPECT_EQ(*tokenizer->Encode("<|user|>  Hello", parse), *tokenizer->Encode("<|user|>Hello", parse));
  EXPECT_EQ(*tokenizer->Encode("<|user|> \n", parse), std::vector<TokenId>{user.id});
}

// As Hugging Face tokenizers 0.23 has it: the search goes on right behind the token, in the space that it swallows.
TEST(SpmTest, SwallowedSpaceMayBeginTheNextToken) {
  SpecMaker maker = SpmMaker();
  std::vector<TokenId> ids;
  for (const char* text : {"<user>", " sp "}) {
    AddedToken token;
    token.id = maker.Add(text, TokenType::kUserDefined);
    token.text = text;
    token.rstrip = ids.empty();
    maker.spec().added.push_back(token);
    ids.push_back(token.id);
  }
  const auto tokenizer = maker.Build();
  EXPECT_EQ(*tokenizer->Encode("<user>  sp "), ids);
  EXPECT_EQ(*tokenizer->Encode("<user> \n sp "), ids);
}

TEST(SpmTest, EveryMarkDecodesToASpace) {  // T20
  SpecMaker maker = SpmMaker();
  const auto tokenizer = maker.Build();
  EXPECT_EQ(tokenizer->Piece(maker.Find("\u2581\u2581\u2581")), "   ");
}

TEST(SpmTest, OnlyTheSpacePrefixAtTheVeryStartIsDropped) {  // T23
  SpecMaker maker = SpmMaker();
  const auto tokenizer = maker.Build();
  const std::string text = "Hello world  a b";
  const auto ids = *tokenizer->Encode(text, {.add_special = true});
  EXPECT_EQ(tokenizer->Decode(ids), text);
  std::string joined;
  for (const TokenId id : ids) joined += tokenizer->Piece(id);
  EXPECT_EQ(joined, " " + text);
  StreamDecoder stream(*tokenizer);
  std::string streamed;
  for (const TokenId id : ids) streamed += stream.Push(id);
  EXPECT_EQ(streamed + stream.Flush(), text);
  StreamDecoder continuing(*tokenizer, true);
  EXPECT_EQ(continuing.Push(maker.Find("\u2581world")), " world");
}

TEST(SpmTest, MergingWordByWordEqualsMergingTheWhole) {
  SpecMaker words = SpmMaker();
  SpecMaker whole = SpmMaker();
  // Tokens that are never reached, but have every last letter of the words below before a space: no cuts.
  for (const char* text : {"a\u2581z", "b\u2581z", "d\u2581z", "o\u2581z"}) whole.Add(text, TokenType::kNormal, -1000);
  const auto by_words = words.Build();
  const auto at_once = whole.Build();
  for (const char* text : {"Hello   world a b", "worldHello  b  ", "   ", "a    ab  Hello"}) {
    EXPECT_EQ(*by_words->Encode(text), *at_once->Encode(text)) << text;
  }
}

TEST(SpmTest, TokensAcrossWordsAreFound) {
  SpecMaker maker = SpmMaker();
  maker.Add("b\u2581", TokenType::kNormal, 9);
  maker.Add("b\u2581a", TokenType::kNormal, 10);
  EXPECT_EQ(Pieces(*maker.Build(), "b a  b  a"), " |b a|  |b | a");
}

TEST(SpmTest, LongRunsAreDone) {  // T16
  const auto tokenizer = SpmMaker().Build();
  for (const char unit : {'Z', ' ', 'l'}) {
    const std::string text(131'072, unit);
    EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode(text)), text);
  }
}

TEST(SpmTest, WithoutByteTokensARunOfUnknownCharactersIsOneUnknown) {
  SpecMaker maker = SpmMaker();
  maker.spec().byte_fallback = false;
  EXPECT_EQ(Pieces(*maker.Build(), "aцщb"), " a|<unk>|b");
}

}  // namespace
}  // namespace prenorm
