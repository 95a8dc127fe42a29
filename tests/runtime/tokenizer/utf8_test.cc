// UTF-8 repair and the streaming of whole characters.
#include "runtime/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/tokenizer/mini_vocabulary.h"

namespace prenorm {
namespace {

constexpr const char* kFffd = "\xEF\xBF\xBD";

TEST(Utf8Test, EachMaximalIllFormedPartBecomesOneReplacement) {  // Unicode 15, tables 3-8 to 3-11
  const std::string r = kFffd;
  EXPECT_EQ(ReplaceInvalidUtf8("\xE2\x80"), r);
  EXPECT_EQ(ReplaceInvalidUtf8("\x61\xFF\x62"), "a" + r + "b");
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("é漢😸"), "é漢😸");
}

TEST(Utf8Test, IncompleteTailsAreCharactersThatCouldStillCome) {
  EXPECT_EQ(IncompleteUtf8Tail("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(IncompleteUtf8Tail("a\xE2"), 1u);
  EXPECT_EQ(IncompleteUtf8Tail("a"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail("😸"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail("\xF5"), 0u);      // no lead
  EXPECT_EQ(IncompleteUtf8Tail("\xE0\x80"), 0u);  // overlong: no character begins so
  EXPECT_EQ(IncompleteUtf8Tail("\x80\x80\x80\x80"), 0u);
}

TEST(Utf8Test, CharactersComeBack) {
  for (const char32_t c : {U'a', U'\u00E9', U'\u07FF', U'\u0800', U'\uFFFD', U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    AppendUtf8(c, &text);
    EXPECT_TRUE(IsValidUtf8(text));
    size_t offset = 0;
    EXPECT_EQ(NextChar(text, &offset), c);
    EXPECT_EQ(offset, text.size());
    EXPECT_EQ(Utf8Length(text[0]), text.size());
  }
}

TEST(StreamDecoderTest, NothingIsPrintedBeforeACharacterIsWhole) {  // T11
  SpecMaker maker = ByteLevelMaker("gpt-2");
  maker.AddMerge("ð", "Ł");   // F0 9F
  maker.AddMerge("ðŁ", "ĺ");  // 98
  const auto tokenizer = maker.Build();
  const TokenId head = maker.Find("ðŁĺ");
  const TokenId last = 3 + 0xB8;
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(stream.Push(head), "");
  EXPECT_EQ(stream.Push(last), "😸");
  EXPECT_EQ(stream.Flush(), "");
  StreamDecoder cut(*tokenizer);
  EXPECT_EQ(cut.Push(head), "");
  EXPECT_EQ(cut.Flush(), kFffd);
}

TEST(StreamDecoderTest, JoinedPiecesEqualDecodingAllAtOnce) {  // T11, T23
  const auto tokenizer = TrainedMaker("smollm", 100).Build();
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<TokenId> ids;
    std::string bytes;
    for (int i = 0; i < 30; ++i) {
      ids.push_back(static_cast<TokenId>(random() % tokenizer->vocab_size()));
      bytes += tokenizer->Piece(ids.back());
    }
    StreamDecoder stream(*tokenizer);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string part = stream.Push(id);
      EXPECT_TRUE(IsValidUtf8(part));
      joined += part;
    }
    joined += stream.Flush();
    EXPECT_EQ(joined, tokenizer->Decode(ids));
    EXPECT_EQ(joined, ReplaceInvalidUtf8(bytes));
  }
}

}  // namespace
}  // namespace prenorm
