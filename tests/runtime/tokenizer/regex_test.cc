// Regular expressions mean what they mean to Oniguruma: cuts as Hugging Face tokenizers 0.23 makes them by the same Split.
#include "runtime/tokenizer/regex.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/tokenizer/cut.h"

namespace prenorm {
namespace {

std::string CutAt(std::string_view pattern, std::string_view text) {
  return Cut(OneRegex(pattern, SplitBehavior::kIsolated), text);
}

TEST(RegexTest, ClassesByName) {
  EXPECT_EQ(CutAt("\\w+", "a\u0301b\u00B2\u2167 x\u2490y"), "[a\u0301b\u00B2\u2167][ ][x][\u2490][y]");
  EXPECT_EQ(CutAt("\\W", "a\u0301-b"), "[a\u0301][-][b]");
  EXPECT_EQ(CutAt("\\b", "ab cd\u0301e"), "[ab][ ][cd\u0301e]");
  EXPECT_EQ(CutAt("\\h+", "xyz12afg"), "[xyz][12af][g]");
  EXPECT_EQ(CutAt("a\\vb", "xa\vb"), "[x][a\vb]");
}

TEST(RegexTest, MembersOfClasses) {
  EXPECT_EQ(CutAt("[\\w'-]+", "a\u0301b'c-d \u2490"), "[a\u0301b'c-d][ \u2490]");
  EXPECT_EQ(CutAt("[\\w]+", "a\u00B2b"), "[a][\u00B2][b]") << "not the same as outside of a class";
  EXPECT_EQ(CutAt("[]a]+", "a]b"), "[a]][b]");
  EXPECT_EQ(CutAt("[a^]+", "a^b"), "[a^][b]");
  EXPECT_EQ(CutAt("[a-c-e]+", "abc-de"), "[abc-][d][e]");
  EXPECT_EQ(CutAt("[-a]+", "a-b"), "[a-][b]");
  EXPECT_EQ(CutAt("[a-]+", "a-b"), "[a-][b]");
  EXPECT_EQ(CutAt("[a&b]+", "a&b c"), "[a&b][ c]") << "single ampersands are members";
  EXPECT_EQ(CutAt("[\\u00e9]+\\u00e9", "a\u00E9\u00E9\u00E9"), "[a][\u00E9\u00E9\u00E9]");
  EXPECT_EQ(CutAt("[\\v]", "a\vb\nc"), "[a][\v][b\nc]");
  EXPECT_EQ(CutAt("[^\\p{^L}]+", "a1b"), "[a][1][b]");
}

TEST(RegexTest, NegatedMembersOfClasses) {
  EXPECT_EQ(CutAt("[\\W]+", "a\u0301-b\u00B2 c"), "[a\u0301][-][b][\u00B2 ][c]");
  EXPECT_EQ(CutAt("[\\W_]+", "a_-b c"), "[a][_-][b][ ][c]");
  EXPECT_EQ(CutAt("[^\\W\\d]+", "ab12_c- d"), "[ab][12][_c][- ][d]");
  EXPECT_EQ(CutAt("[^\\W\\d_]+", "ab12_c- d"), "[ab][12_][c][- ][d]");
  EXPECT_EQ(CutAt("[\\S]+", "a\u180E b\u3000c"), "[a\u180E][ ][b][\u3000][c]");
  EXPECT_EQ(CutAt("[^\\S\\n]+", "a \t\n b"), "[a][ \t][\n][ ][b]");
  EXPECT_EQ(CutAt("[^\\S\\r\\n]+\\n?", "a \t\n b"), "[a][ \t\n][ ][b]");
  EXPECT_EQ(CutAt("[\\H]+", "afg-12"), "[af][g-][12]");
  EXPECT_EQ(CutAt("[^\\Ha]+", "afb-12"), "[a][fb][-][12]");
  EXPECT_EQ(CutAt("[^\\s\\S]", "ab"), "[ab]");
}

TEST(RegexTest, PosixNames) {
  EXPECT_EQ(CutAt("[[:punct:]]+", "a+b$,c"), "[a][+][b][$,][c]");
  EXPECT_EQ(CutAt("[[:^punct:]]+", "a+b$,c"), "[a][+][b][$,][c]");
  EXPECT_EQ(CutAt("[^[:^punct:]$]+", "a+b$,c"), "[a][+][b$][,][c]");
  EXPECT_EQ(CutAt("[[:^word:]]+", "a+b\u00B2c"), "[a][+][b][\u00B2][c]");
  EXPECT_EQ(CutAt("[[:alpha:]\\s]+", "ab c1"), "[ab c][1]");
  EXPECT_EQ(CutAt("[[:alpha:]]+", "a\u0301\u2160\u24B6b"), "[a][\u0301][\u2160\u24B6b]");
  EXPECT_EQ(CutAt("[[:alnum:]]+", "a1\u00B2b\u0663"), "[a1][\u00B2][b\u0663]");
  EXPECT_EQ(CutAt("[[:lower:]]+", "a\u00AAB\u2170"), "[a\u00AA][B][\u2170]");
  EXPECT_EQ(CutAt("[[:upper:]]+", "A\u2160b\u24B6"), "[A\u2160][b][\u24B6]");
  EXPECT_EQ(CutAt("[[:blank:]]+", "a \t\n\u00A0b"), "[a][ \t][\n][\u00A0][b]");
  EXPECT_EQ(CutAt("[[:graph:]]+",
                  "a\u00AD b\x01"
                  "c"),
            "[a\u00AD][ ][b][\x01][c]");
}

TEST(RegexTest, ClassesInsideOfClasses) {
  EXPECT_EQ(CutAt("[[a-c]x]+", "abxd"), "[abx][d]");
  EXPECT_EQ(CutAt("[^[a-c]]+", "abcd"), "[abc][d]");
  EXPECT_EQ(CutAt("[a[^b-z]]+", "abc1z"), "[a][bc][1][z]");
  EXPECT_EQ(CutAt("[^a[^b-z]]+", "abc1z"), "[a][bc][1][z]");
  EXPECT_EQ(CutAt("[a[^^]]+", "a^b"), "[a][^][b]");
}

TEST(RegexTest, IntersectionsOfClasses) {
  EXPECT_EQ(CutAt("[\\p{L}&&[^\\p{Han}]]+", "ab世界cd"), "[ab][世界][cd]");
  EXPECT_EQ(CutAt("x?[\\p{L}\\p{M}&&[^\\p{Han}]]*[\\d&&[1-3]]+", "xab12世4"), "[xab12][世4]");
  EXPECT_EQ(CutAt("[^a-z&&b-d]+", "abcde1"), "[a][bcd][e1]");
  EXPECT_EQ(CutAt("[a-z&&b-d]+", "abcde1"), "[a][bcd][e1]");
  EXPECT_EQ(CutAt("[a-z&&[^aeiou]&&\\w]+", "abcde-fg"), "[a][bcd][e-][fg]");
  EXPECT_EQ(CutAt("[\\S&&\\W]+", "a, b"), "[a][,][ b]");
  EXPECT_EQ(CutAt("[a&&]", "ab"), "[ab]");
}

TEST(RegexTest, RepetitionsAndOptions) {
  EXPECT_EQ(CutAt("a{,2}b", "aaab"), "[a][aab]");
  EXPECT_EQ(CutAt("xa{1,2}+", "xaaaaxa"), "[xaaaa][xa]");
  EXPECT_EQ(CutAt("a{x", "ba{xa"), "[b][a{x][a]");
  EXPECT_EQ(CutAt("(?m).+", "a\nb"), "[a\nb]");
  EXPECT_EQ(CutAt("x(?m:a.)b", "xa\nb"), "[xa\nb]");
}

TEST(RegexTest, RefusesWhatItDoesNotKnow) {
  for (const char* pattern : {"(unclosed", "[a", "[a-\\w]", "[a-[bc]]", "[[:vowel:]]", "a{2,3}+", "a{2}?", "\\"}) {
    const Status status = Regex::Compile(pattern).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << pattern;
    EXPECT_NE(status.message().find(pattern), std::string::npos) << status.message();
  }
  EXPECT_EQ(Regex::Compile(std::string(100000, '[')).status().code(), StatusCode::kUnsupported) << "no deep recursion";
}

TEST(RegexTest, EmptyMatchesAndLimits) {
  EXPECT_EQ(CutAt("(?=é)", "aéé"), "[a][é][é]");
  // Catastrophic backtracking ends with a status.
  EXPECT_EQ(CutAt("(a+)+[bd]", std::string(64, 'a') + "c").substr(0, 6), "error:");
}

}  // namespace
}  // namespace prenorm
