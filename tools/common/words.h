// Words of messages: sizes, lines, and what somebody may have meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prenorm::tools {

/// "1 token", "2 tokens".
std::string CountText(uint64_t count, std::string_view noun);

/// "1.2 GB", "98.4 MB".
std::string SizeText(uint64_t bytes);

/// `text` in lines that end before column `width`: the first begins at column `indent`, the others with as many spaces.
/// Breaks at spaces, and behind '|' in words that no line holds.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

/// The nearest of `candidates` if it is near enough to be what was meant; empty otherwise.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace prenorm::tools
