// Pieces of a text as one string: "[a][b]".
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "runtime/tokenizer/splitter.h"

namespace prenorm {

inline std::string Cut(const SplitSteps& steps, std::string_view text, bool at_start = true) {
  Splitter splitter;
  const Status status = splitter.Split(steps, text, at_start);
  if (!status.ok()) return "error: " + status.message();
  std::string out;
  for (const std::string_view piece : splitter.pieces()) out.append("[").append(piece).append("]");
  return out;
}

inline SplitSteps OneRegex(std::string_view pattern, SplitBehavior behavior, bool invert = false) {
  SplitSteps steps(1);
  Result<Regex> regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok());
  steps[0].regex = *regex;
  steps[0].behavior = behavior;
  steps[0].invert = invert;
  return steps;
}

}  // namespace prenorm
