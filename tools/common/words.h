// Words of messages: sizes, and what somebody may have meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prenorm::tools {

/// "1.2 GB", "98.4 MB".
std::string SizeText(uint64_t bytes);

/// The nearest of `candidates` if it is near enough to be what was meant; empty otherwise.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace prenorm::tools
