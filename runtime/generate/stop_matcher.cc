// One Knuth-Morris-Pratt automaton a stop string.
#include "runtime/generate/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace prenorm {

Result<StopMatcher> StopMatcher::Create(std::vector<std::string> stop_strings) {
  StopMatcher matcher;
  for (std::string& text : stop_strings) {
    if (text.empty()) {
      return Status(StatusCode::kInvalidArgument,
                    "A stop string is empty.\nstop: expected at least one character\nLeave it out.");
    }
    if ((static_cast<unsigned char>(text[0]) & 0xC0u) == 0x80u) {  // It could match in the middle of a character.
      return Status(
          StatusCode::kInvalidArgument,
          "A stop string begins inside a UTF-8 character.\nstop: expected whole characters\nGive it in UTF-8.");
    }
    Pattern pattern;
    pattern.border.resize(text.size());
    for (size_t i = 1, length = 0; i < text.size(); ++i) {
      while (length > 0 && text[i] != text[length]) length = pattern.border[length - 1];
      if (text[i] == text[length]) ++length;
      pattern.border[i] = length;
    }
    pattern.text = std::move(text);
    matcher.patterns_.push_back(std::move(pattern));
  }
  return matcher;
}

std::string StopMatcher::Push(std::string_view piece) {
  if (matched_) return {};
  if (patterns_.empty()) return std::string(piece);
  for (char byte : piece) {
    held_.push_back(byte);
    size_t complete = 0;
    for (Pattern& p : patterns_) {
      while (p.length > 0 && p.text[p.length] != byte) p.length = p.border[p.length - 1];
      if (p.text[p.length] == byte) ++p.length;
      if (p.length == p.text.size()) complete = std::max(complete, p.length);
    }
    if (complete > 0) {
      matched_ = true;
      held_.resize(held_.size() - complete);
      return std::exchange(held_, {});
    }
  }
  size_t longest = 0;  // Bytes at the end of held_ that may belong to a stop string.
  for (const Pattern& p : patterns_) longest = std::max(longest, p.length);
  std::string certain = held_.substr(0, held_.size() - longest);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::Flush() { return std::exchange(held_, {}); }

}  // namespace prenorm
