// Wrapping of one line, as Python's textwrap does it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/chat_template/text.h"

namespace prenorm::chat_template {

struct WrapStyle {
  size_t width;           ///< Characters, > 0.
  bool break_long_words;  ///< Words longer than that are cut.
  bool break_on_hyphens;  ///< Lines may end behind the hyphen of a word and at dashes.
};

/// The lines that `line` becomes, as ranges of it without the white space where it is broken.
std::vector<Range> WrapLine(Budget& budget, std::string_view line, const WrapStyle& style);

}  // namespace prenorm::chat_template
