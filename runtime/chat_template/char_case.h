// Upper and lower case, character by character, origins kept.
#pragma once

#include <string_view>

#include "runtime/chat_template/text.h"

namespace prenorm::chat_template {

bool IsUpper(char32_t c);
bool IsLower(char32_t c);
bool IsLetter(char32_t c);
/// All letters with case have this one, and there is one.
bool IsAll(std::string_view text, bool (*of_case)(char32_t c));

enum class Case { kUpper, kLower, kSwap };
Text ChangeCase(Budget& budget, const Text& text, Case to);
/// The first character in upper case, the others in lower case.
Text Capitalize(Budget& budget, const Text& text);
/// Each letter behind something else than a letter in upper case, the others in lower case (Python's str.title).
Text TitleCase(Budget& budget, const Text& text);
/// The same at the start and behind white space, '-', '(', '{', '[' and '<' (Jinja's filter).
Text TitleWords(Budget& budget, const Text& text);

}  // namespace prenorm::chat_template
