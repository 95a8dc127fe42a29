// Reasoning markers in templates, and streams cut at every place.
#include "tools/common/reasoning.h"

#include <gtest/gtest.h>

namespace prenorm::tools {
namespace {

// `text` in pieces of `size` bytes.
ReasoningSplitter::Pieces Split(const std::string& text, size_t size, const std::string& prompt = "<|assistant|>") {
  ReasoningSplitter splitter({"<think>", "</think>"}, prompt);
  ReasoningSplitter::Pieces all;
  const auto add = [&](const ReasoningSplitter::Pieces& pieces) {
    all.reasoning += pieces.reasoning;
    all.answer += pieces.answer;
  };
  for (size_t at = 0; at < text.size(); at += size) add(splitter.Push(text.substr(at, size)));
  add(splitter.Flush());
  return all;
}

TEST(ReasoningTest, SplitsWhereverTheStreamIsCut) {
  for (size_t size = 1; size < 40; ++size) {
    const auto pieces = Split("\n<think>\n1 < 2 </thin\n</think>\n\nYes, <think> is a tag.", size);
    EXPECT_EQ(pieces.reasoning, "\n1 < 2 </thin\n") << size;
    EXPECT_EQ(pieces.answer, "Yes, <think> is a tag.") << size;
  }
}

TEST(ReasoningTest, AnAnswerWithoutReasoningIsWhole) {
  for (const std::string text : {"Hello", "<thing>", "  <b>bold</b> <think>", "<thin", ""}) {
    for (size_t size = 1; size < 8; ++size) EXPECT_EQ(Split(text, size).answer, text);
  }
}

TEST(ReasoningTest, ThePromptMayHaveOpenedIt) {
  const auto pieces = Split("because</think>Yes.", 3, "<|assistant|><think>\n");
  EXPECT_EQ(pieces.reasoning, "because");
  EXPECT_EQ(pieces.answer, "Yes.");
  EXPECT_EQ(Split("no end", 2, "<think>").reasoning, "no end") << "an answer cut short is all reasoning";
}

TEST(ReasoningTest, MarkersAreThoseOfTheTemplate) {
  EXPECT_EQ(FindReasoningMarkers("{{ content.split('[/THINK]') }}").open, "[THINK]");
  EXPECT_EQ(FindReasoningMarkers("a </think> b").close, "</think>");
  EXPECT_EQ(FindReasoningMarkers("").open, "<think>");
}

}  // namespace
}  // namespace prenorm::tools
