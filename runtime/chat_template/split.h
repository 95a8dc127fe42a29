// Splitting and replacing, as Python's strings do.
#pragma once

#include <string_view>

#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

/// Parts between separators; an empty separator stands for runs of white space. At most `limit` splits, any for -1.
Values SplitText(Budget& budget, const Text& text, std::string_view separator, int64_t limit, bool from_right);

/// Lines by all of Unicode's line ends.
Values SplitTextLines(Budget& budget, const Text& text, bool keep_ends);

/// At most `limit` occurrences of `from`, all for -1. An empty `from` is before each character and at the end.
Text ReplaceText(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t limit);

}  // namespace prenorm::chat_template
