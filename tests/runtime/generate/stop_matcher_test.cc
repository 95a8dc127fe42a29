// Stop strings across pieces, and nothing of them let through.
#include "runtime/generate/stop_matcher.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace prenorm {
namespace {

struct Outcome {
  std::string text;
  bool matched;
  bool operator==(const Outcome&) const = default;
};

Outcome Match(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  Result<StopMatcher> matcher = StopMatcher::Create(stops);
  EXPECT_TRUE(matcher.ok());
  std::string text;
  for (const std::string& piece : pieces) text += matcher->Push(piece);
  text += matcher->Flush();
  return {text, matcher->matched()};
}

TEST(StopMatcherTest, MatchesAcrossPiecesAndLetsNothingThrough) {  // R19
  EXPECT_EQ(Match({"KLMNOPQ"}, {"KLM", "N", "OP", "Q"}), (Outcome{"", true}));
  EXPECT_EQ(Match({"KLMNOPQ"}, {"KLM", "N", "X"}), (Outcome{"KLMNX", false}));
  EXPECT_EQ(Match({"KLMNOPQ"}, {"abKLMNOPQcd", "ef"}), (Outcome{"ab", true}));
  EXPECT_EQ(Match({"KLMNOPQ"}, {"KLMNOP"}), (Outcome{"KLMNOP", false})) << "held back until the end";
}

TEST(StopMatcherTest, HoldsBackOnlyWhatMayBecomeAStop) {
  Result<StopMatcher> matcher = StopMatcher::Create({"\n\n", "###"});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->Push("abc"), "abc");
  EXPECT_EQ(matcher->Push("d\n"), "d");
  EXPECT_EQ(matcher->Push("#"), "\n");
  EXPECT_EQ(matcher->Push("#x"), "##x");
  EXPECT_FALSE(matcher->matched());
}

TEST(StopMatcherTest, FallsBackWithinRepeatedPrefixes) {
  EXPECT_EQ(Match({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", true}));
  EXPECT_EQ(Match({"abcabd"}, {"abcab", "cabd"}), (Outcome{"abc", true}));
}

TEST(StopMatcherTest, TheFirstCompleteStopWinsThenTheLongest) {
  EXPECT_EQ(Match({"abcd", "bc"}, {"abcd"}), (Outcome{"a", true}));
  EXPECT_EQ(Match({"bc", "abc"}, {"xabc"}), (Outcome{"x", true}));
}

TEST(StopMatcherTest, NeverDependsOnHowTheTextIsCut) {
  const std::string text = "aabacabaacaabaab";
  const std::vector<std::string> stops = {"caab", "baab"};
  const Outcome whole = Match(stops, {text});
  EXPECT_TRUE(whole.matched);
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      EXPECT_EQ(Match(stops, {text.substr(0, a), text.substr(a, b - a), text.substr(b)}), whole);
    }
  }
}

TEST(StopMatcherTest, WithoutStopsTextPasses) { EXPECT_EQ(Match({}, {"a", "", "b"}), (Outcome{"ab", false})); }

TEST(StopMatcherTest, RefusesEmptyAndHalfCharacters) {
  EXPECT_EQ(StopMatcher::Create({""}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(StopMatcher::Create({"\xA9x"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(StopMatcher::Create({"\xC3\xA9x"}).ok());
}

}  // namespace
}  // namespace prenorm
