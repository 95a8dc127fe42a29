// Cuts of the named pre-tokenizers, and the steps that tokenizer.json can name.
#include "runtime/tokenizer/pretokenizers.h"

#include <gtest/gtest.h>

#include <sstream>

#include "runtime/tokenizer/splitter.h"
#include "tests/runtime/tokenizer/cut.h"

namespace prenorm {
namespace {

std::string CutBy(std::string_view name, std::string_view text) {
  const Result<Pretokenizer> found = FindPretokenizer(name);
  return found.ok() ? Cut(found->splits, text) : "error: " + found.status().message();
}

TEST(PretokenizerTest, NewlineRunsStayTogether) {  // T5
  EXPECT_EQ(CutBy("llama-bpe", "a\n\nb"), "[a][\n\n][b]");
  EXPECT_EQ(CutBy("llama-bpe", "a\n\n\n\nb"), "[a][\n\n\n\n][b]");
}

TEST(PretokenizerTest, LlamaContractionsMatchInAnyCaseAndDigitsByThrees) {  // T7
  EXPECT_EQ(CutBy("llama-bpe", "I'LL 3333333 it's"), "[I]['LL][ ][333][333][3][ it]['s]");
}

TEST(PretokenizerTest, QwenAndSmolLmCutEveryDigit) {  // T8
  EXPECT_EQ(CutBy("qwen2", "in 2024"), "[in][ ][2][0][2][4]");
  EXPECT_EQ(CutBy("smollm", "in 2024"), "[in][ ][2][0][2][4]");
  EXPECT_EQ(CutBy("gpt-2", "in 2024"), "[in][ 2024]");
}

TEST(PretokenizerTest, LastSpaceOfARunBelongsToTheWord) {  // T9
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "qwen2", "tekken"}) {
    EXPECT_EQ(CutBy(name, "a  b"), "[a][ ][ b]") << name;
  }
}

TEST(PretokenizerTest, CaseAwareWords) {
  EXPECT_EQ(CutBy("tekken", "HelloWorld ABCdef it's"), "[Hello][World][ ABCdef][ it]['s]");
  EXPECT_EQ(CutBy("gpt-4o", "HelloWorld it's 1234/\n"), "[Hello][World][ it's][ ][123][4][/\n]");
}

TEST(PretokenizerTest, WhiteSpaceIsUnicodesProperty) {
  EXPECT_EQ(CutBy("gpt-2", "a\xE3\x80\x80"), "[a][\xE3\x80\x80]");
  // U+180E is a format character, not white space: it goes with punctuation.
  EXPECT_EQ(CutBy("gpt-2", "a\xE1\xA0\x8E!"), "[a][\xE1\xA0\x8E!]");
}

TEST(PretokenizerTest, UnknownNameIsRefusedWithTheKnownOnes) {  // T8
  const Result<Pretokenizer> found = FindPretokenizer("no-such-name");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(found.status().message().find("no-such-name"), std::string::npos);
  EXPECT_NE(found.status().message().find("smollm, "), std::string::npos);
}

TEST(PretokenizerTest, DigitsByThreesFromTheRight) {
  for (const char* name : {"afmoe", "tiny_aya", "superbpe"}) {
    EXPECT_EQ(CutBy(name, "1234567"), "[1][234][567]") << name;
    EXPECT_EQ(CutBy(name, "123"), "[123]") << name;
  }
  EXPECT_EQ(CutBy("afmoe", "in 12345 x"), "[in][ ][12][345][ x]");
  EXPECT_EQ(CutBy("superbpe", "by the way 1234"), "[by the way ][1][234]");
}

TEST(PretokenizerTest, ScriptsThatAreCutFromOthers) {
  EXPECT_EQ(CutBy("kimi-k2", "Hello世界Abc世"), "[Hello][世界][Abc][世]");
  EXPECT_EQ(CutBy("kimi-k2", "it's 12345"), "[it's][ ][123][45]");
  EXPECT_EQ(CutBy("youtu", "한국어，abc 12"), "[한국어][，][abc][ ][1][2]");
  EXPECT_EQ(CutBy("afmoe", "abc漢字カナ!def"), "[abc][漢字カナ][!def]");
}

TEST(PretokenizerTest, PeculiaritiesOfSingleFamilies) {
  EXPECT_EQ(CutBy("qwen2", "Ali'dedi"), "[Ali]['d][edi]");
  EXPECT_EQ(CutBy("ufakzeka", "Ali'dedi"), "[Ali]['dedi]");
  EXPECT_EQ(CutBy("exaone-moe", "ab cd, e"), "[ab cd][,][ e]");
  EXPECT_EQ(CutBy("jais-2", "a     x"), "[a][    ][ x]");
  EXPECT_EQ(CutBy("minicpm5", "a 12345"), "[a][ ][123][45]");
  EXPECT_EQ(CutBy("spark2_5", "12345"), "[1][2][3][4][5]");
  EXPECT_EQ(CutBy("laguna", "a \n\nb"), "[a][ ][\n\n][b]");
  EXPECT_EQ(CutBy("chameleon", "<sentinel:3>x  12"), "[<][sentinel][:][3][>][x][  ][1][2]");
  EXPECT_EQ(CutBy("whitespace", "a b\n"), "[a][ ][b][\n]");
}

TEST(PretokenizerTest, EveryKnownNameCompilesAndLosesNothing) {
  const std::string known = FindPretokenizer("no-such-name").status().message();
  std::istringstream names(known.substr(known.find("known: ") + 7));
  const std::string text = "It's 12345 Größe,\n\n  世界 한국어 \t'LL x²!\r\n ";
  int count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    const Result<Pretokenizer> found = FindPretokenizer(name);
    ASSERT_TRUE(found.ok()) << name;
    Splitter splitter;
    ASSERT_TRUE(splitter.Split(found->splits, text, true).ok());
    std::string joined;
    for (const std::string_view piece : splitter.pieces()) joined += piece;
    EXPECT_EQ(joined, text) << name;
    ++count;
  }
  EXPECT_GT(count, 90);
}

TEST(PretokenizerTest, EveryNameTakesLongRuns) {
  std::string long_text;
  for (const char* unit : {"x", "X", " ", "5", "\n", ".", "漢"}) {
    for (int i = 0; i < 20'000; ++i) long_text += unit;
  }
  for (const char* name :
       {"default",   "gpt-2",        "smollm",         "llama-bpe",   "qwen2",      "qwen35",     "tekken", "gpt-4o",
        "command-r", "deepseek-llm", "deepseek-coder", "deepseek-v3", "bailingmoe", "seed-coder", "falcon", "bloom",
        "viking",    "gemma4",       "kimi-k2",        "youtu",       "exaone-moe", "jais-2"}) {
    const std::string cut = CutBy(name, long_text);
    EXPECT_EQ(cut.substr(0, 2), "[x") << name << ": " << cut.substr(0, 200);
  }
}

TEST(SplitterTest, BehaviorsAreThoseOfHuggingFace) {  // the examples of its documentation: "the-final--countdown"
  constexpr std::string_view kText = "the-final--countdown";
  EXPECT_EQ(Cut(OneRegex("-", SplitBehavior::kRemoved), kText), "[the][final][countdown]");
  EXPECT_EQ(Cut(OneRegex("-", SplitBehavior::kIsolated), kText), "[the][-][final][-][-][countdown]");
  EXPECT_EQ(Cut(OneRegex("-", SplitBehavior::kMergedWithPrevious), kText), "[the-][final-][-][countdown]");
  EXPECT_EQ(Cut(OneRegex("-", SplitBehavior::kMergedWithNext), kText), "[the][-final][-][-countdown]");
  EXPECT_EQ(Cut(OneRegex("-", SplitBehavior::kContiguous), kText), "[the][-][final][--][countdown]");
  EXPECT_EQ(Cut(OneRegex("[a-z]+", SplitBehavior::kRemoved, true), kText), "[the][final][countdown]");
}

TEST(SplitterTest, MetaspacePrefixes) {
  SplitSteps steps(1);
  steps[0].kind = SplitStep::Kind::kMetaspace;
  steps[0].mark.push_back('_');
  steps[0].prefix = SpacePrefix::kFirst;
  EXPECT_EQ(Cut(steps, "a  b"), "[_a][_][_b]");
  EXPECT_EQ(Cut(steps, " a"), "[_a]");
  EXPECT_EQ(Cut(steps, "a b", false), "[a][_b]");
  steps[0].split = false;
  EXPECT_EQ(Cut(steps, "a b"), "[_a_b]");
}

TEST(SplitterTest, MetaspaceKnowsWhetherTheBeginningWasRemoved) {
  SplitSteps steps = OneRegex("!", SplitBehavior::kRemoved);
  SplitStep space;
  space.kind = SplitStep::Kind::kMetaspace;
  space.mark = "_";
  space.prefix = SpacePrefix::kFirst;
  steps.push_back(space);
  EXPECT_EQ(Cut(steps, "!a b"), "[a][_b]");
  EXPECT_EQ(Cut(steps, "a!b"), "[_a][b]");
}

}  // namespace
}  // namespace prenorm
