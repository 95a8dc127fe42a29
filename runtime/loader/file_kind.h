// Names the kind of a file that is not the model it was taken for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace prenorm {

/// "an HTML page", "a Git LFS pointer ...", or nothing where none of these is recognized.
std::optional<std::string> DescribeForeignFile(std::span<const uint8_t> bytes);

}  // namespace prenorm
