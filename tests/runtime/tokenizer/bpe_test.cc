// Byte-level BPE: order of merges, round trips, long pieces, special tokens, hostile descriptions.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "runtime/limits.h"
#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/splitter.h"
#include "tests/runtime/tokenizer/mini_vocabulary.h"
#include "tests/support/small_stack.h"

namespace prenorm {
namespace {

/// Oracle: strings instead of ids, a search over all pairs instead of a heap.
std::vector<TokenId> MergeNaively(const SpecMaker& maker, const std::vector<Merge>& merges, std::string_view piece) {
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    ranks.emplace(std::pair(std::string(merges[rank].left), std::string(merges[rank].right)), rank);
  }
  std::vector<std::string> symbols;
  for (const char c : piece) symbols.emplace_back(ByteLevelChar(static_cast<unsigned char>(c)));
  for (;;) {
    size_t best = std::numeric_limits<size_t>::max();
    size_t at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = ranks.find({symbols[i], symbols[i + 1]});
      if (rank == ranks.end() || rank->second >= best) continue;
      best = rank->second;
      at = i;
    }
    if (best == std::numeric_limits<size_t>::max()) break;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<TokenId> ids;
  for (const std::string& symbol : symbols) ids.push_back(maker.Find(symbol));
  return ids;
}

TEST(BpeTest, MergesAsTheNaiveSearchDoes) {
  SpecMaker maker = TrainedMaker("gpt-2", 150);
  const std::vector<Merge> merges = maker.spec().merges;
  const SplitSteps splits = maker.spec().splits;
  const auto tokenizer = maker.Build();
  std::mt19937 random(7);
  constexpr std::string_view kLetters = "theaiounslrmcd ";
  std::vector<std::string> texts = DifficultTexts();
  for (int i = 0; i < 200; ++i) {
    std::string& text = texts.emplace_back();
    const size_t size = 1 + random() % 90;  // pieces on both sides of the switch to the heap
    for (size_t k = 0; k < size; ++k) text += kLetters[random() % (i % 2 == 0 ? kLetters.size() - 1 : kLetters.size())];
  }
  for (const std::string& text : texts) {
    Splitter splitter;
    ASSERT_TRUE(splitter.Split(splits, text, true).ok());
    std::vector<TokenId> expected;
    for (const std::string_view piece : splitter.pieces()) {
      for (const TokenId id : MergeNaively(maker, merges, piece)) expected.push_back(id);
    }
    EXPECT_EQ(*tokenizer->Encode(text), expected) << text;
  }
}

TEST(BpeTest, LowestRankMergesFirstLeftmostOnTies) {  // T19
  SpecMaker maker = ByteLevelMaker("gpt-2");
  maker.AddMerge("i", "s");
  maker.AddMerge("is", "t");
  maker.AddMerge("a", "l");
  maker.AddMerge("al", "ist");
  maker.AddMerge("b", "r");
  maker.AddMerge("u", "t");
  maker.AddMerge("br", "u");  // the longest match from the left would take it
  maker.AddMerge("z", "z");
  const auto tokenizer = maker.Build();
  EXPECT_EQ(Pieces(*tokenizer, "brutalist"), "br|ut|alist");
  EXPECT_EQ(Pieces(*tokenizer, "zzz"), "zz|z");
}

TEST(BpeTest, DecodesToTheSameBytes) {  // T18, T27, T28, T29
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    const auto tokenizer = TrainedMaker(name, 150).Build();
    for (const std::string& text : DifficultTexts()) {
      const auto ids = tokenizer->Encode(text);
      ASSERT_TRUE(ids.ok()) << ids.status().message();
      EXPECT_EQ(tokenizer->Decode(*ids), text) << name;
    }
    EXPECT_TRUE(tokenizer->Encode("")->empty());
    EXPECT_EQ(*tokenizer->Encode("", {.add_special = true}), std::vector<TokenId>{1});
  }
}

TEST(BpeTest, InvalidUtf8IsReplacedAndTheRestIsUntouched) {  // T12
  const auto tokenizer = TrainedMaker("smollm", 100).Build();
  const auto decoded = [&](std::string_view text) { return tokenizer->Decode(*tokenizer->Encode(text)); };
  EXPECT_EQ(decoded("end\xE2\x80"), "end\xEF\xBF\xBD");
  EXPECT_EQ(decoded("\x61\xFF\x62"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(*tokenizer->Encode("\x61\xFF\x62"), *tokenizer->Encode("a\xEF\xBF\xBD"
                                                                   "b"));
}

bool EncodesLongRuns(const Tokenizer& tokenizer) {
  bool ok = true;
  for (const auto& [size, unit] : std::initializer_list<std::pair<size_t, const char*>>{{50'000, "A"},
                                                                                        {131'072, "Z"},
                                                                                        {131'072, " "},
                                                                                        {131'072, "7"},
                                                                                        {131'072, "\n"},
                                                                                        {65'536, "ж"},
                                                                                        {65'536, "'s"}}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += unit;
    const auto ids = tokenizer.Encode(text);
    ok = ok && ids.ok() && tokenizer.Decode(*ids) == text;
  }
  return ok;
}

TEST(BpeTest, LongRunsNeedNoStack) {  // T16
  for (const char* name :
       {"gpt-2", "smollm", "llama-bpe", "qwen2", "tekken", "gpt-4o", "deepseek-llm", "deepseek-v3"}) {
    SpecMaker maker = ByteLevelMaker(name);
    for (const char* unit : {"Z", "A"}) {
      std::string run = unit;
      for (int i = 0; i < 6; ++i, run += run) maker.AddMerge(run, run);
    }
    const auto tokenizer = maker.Build();
    bool ok = false;
    RunOnStack(256 * 1024, [&] { ok = EncodesLongRuns(*tokenizer); });
    EXPECT_TRUE(ok) << name;
  }
}

TEST(BpeTest, MarkersAreTextUnlessParsed) {  // T13
  const auto tokenizer = TrainedMaker("smollm", 50).Build();
  const std::string text = "<|im_end|>\n<|im_start|>system";
  const auto plain = *tokenizer->Encode(text);
  for (const TokenId id : plain) EXPECT_FALSE(tokenizer->IsControl(id));
  EXPECT_EQ(tokenizer->Decode(plain), text);
  const auto parsed = *tokenizer->Encode(text, {.parse_special = true});
  EXPECT_EQ(parsed[0], 2);
  EXPECT_EQ(parsed[2], 1);
  EXPECT_EQ(tokenizer->Decode(parsed), "\nsystem");
  EXPECT_EQ(tokenizer->Decode(parsed, true), text);
}

TEST(BpeTest, SegmentsParseOnlyTheirOwnMarkers) {  // T13
  const auto tokenizer = TrainedMaker("smollm", 50).Build();
  const TextSegment segments[] = {{"<|im_start|>user\n", true}, {"hi<|im_end|> <|im_", false}, {"end|>", true}};
  const auto ids = *tokenizer->EncodeSegments(segments);
  std::vector<TokenId> controls;
  for (const TokenId id : ids) {
    if (tokenizer->IsControl(id)) controls.push_back(id);
  }
  EXPECT_EQ(controls, std::vector<TokenId>{1});  // a marker across a border is text
  const TextSegment joined[] = {{"<|im_", true}, {"end|>", true}};
  EXPECT_EQ(*tokenizer->EncodeSegments(joined), std::vector<TokenId>{2});
}

TEST(BpeTest, BosIsNotDoubled) {  // T14
  const auto tokenizer = TrainedMaker("smollm", 50).Build();
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_TRUE(tokenizer->adds_bos());
  const EncodeOptions both{.add_special = true, .parse_special = true};
  EXPECT_EQ(*tokenizer->Encode("<|im_start|>hi", both), *tokenizer->Encode("hi", both));
}

TEST(BpeTest, AllEndTokensAreListedOnce) {  // T15
  const auto tokenizer = ByteLevelMaker("smollm").Build();
  const auto ends = tokenizer->end_tokens();
  EXPECT_EQ(std::vector<TokenId>(ends.begin(), ends.end()), (std::vector<TokenId>{0, 2}));
}

TEST(BpeTest, IdsBeyondTheVocabularyDecodeToNothing) {  // T26
  const auto tokenizer = ByteLevelMaker("smollm").Build();
  EXPECT_EQ(tokenizer->vocab_size(), 259u);
  for (const TokenId id : {259, 151'936, -1, std::numeric_limits<TokenId>::max()}) {
    EXPECT_EQ(tokenizer->Piece(id, true), "");
    EXPECT_EQ(tokenizer->TokenText(id), "");
    EXPECT_FALSE(tokenizer->IsControl(id));
  }
  EXPECT_EQ(tokenizer->Find("<|im_end|>"), std::optional<TokenId>(2));
  EXPECT_EQ(tokenizer->Find("no such token"), std::nullopt);
}

TEST(BpeTest, RepeatedWordsOfLongTextsGiveTheSameIds) {  // beyond the size from which pieces are remembered
  const auto tokenizer = TrainedMaker("qwen2", 150).Build();
  const std::string line = "The miller counts 12 sacks, abcdefghijklmno abcdefghijklmnop and the river runs.\n";
  const auto one = *tokenizer->Encode(line);
  std::string text;
  std::vector<TokenId> expected;
  for (int i = 0; i < 200; ++i) {
    text += line;
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(*tokenizer->Encode(text), expected);
}

void ExpectBadModel(const TokenizerSpec& spec, std::string_view words) {
  const auto tokenizer = BuildTokenizer(spec);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.status().code(), StatusCode::kBadModel);
  EXPECT_NE(tokenizer.status().message().find(words), std::string::npos) << tokenizer.status().message();
}

TEST(BuildTokenizerTest, RefusesDescriptionsThatContradictThemselves) {
  const SpecMaker good = TrainedMaker("smollm", 20);
  const auto broken = [&](auto change) {
    SpecMaker maker = good;
    change(maker.spec());
    return maker.spec();
  };
  ExpectBadModel(TokenizerSpec(), "empty");
  ExpectBadModel(broken([](TokenizerSpec& s) { s.merges.push_back({"he", "nonsense"}); }), "nonsense");
  ExpectBadModel(broken([](TokenizerSpec& s) { s.types.pop_back(); }), "token types");
  ExpectBadModel(broken([](TokenizerSpec& s) { s.bos = 100'000; }), "BOS");
  ExpectBadModel(broken([](TokenizerSpec& s) { s.end_tokens = {-5}; }), "end token");
  ExpectBadModel(broken([](TokenizerSpec& s) { s.unknown = 100'000; }), "unknown token");
  const std::string long_token(kMaxTokenBytes + 1, 'x');
  ExpectBadModel(broken([&](TokenizerSpec& s) { s.tokens[5] = long_token; }), "bytes");
  ExpectBadModel(broken([](TokenizerSpec& s) {
                   s.kind = TokenModelKind::kSpm;
                   s.scores.pop_back();
                 }),
                 "scores");
  using Float = std::numeric_limits<float>;
  for (const float score : {Float::quiet_NaN(), Float::infinity(), -Float::infinity()}) {
    ExpectBadModel(broken([&](TokenizerSpec& s) { s.scores[3] = score; }), "finite number");
  }
}

}  // namespace
}  // namespace prenorm
