// Names the kind of a file that is not the model it was taken for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prenorm {

/// What DescribeForeignFile says when nothing is recognized.
inline constexpr std::string_view kNoGgufFile = "no GGUF file";

/// "an HTML page", "a Git LFS pointer ...", or kNoGgufFile.
std::string DescribeForeignFile(std::span<const uint8_t> bytes);

}  // namespace prenorm
