// UTF-8: validation, repair, decoding of valid text, and the few character classes that need no table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prenorm {

/// U+FFFD and U+2581 (the mark that SentencePiece writes for a space).
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

bool IsValidUtf8(std::string_view text);

/// A copy in which each maximal ill-formed part is U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

/// Bytes at the end of `text` that begin a character which is not complete yet (0 to 3).
size_t IncompleteUtf8Tail(std::string_view text);

/// Bytes of the character that `lead` begins, in valid text.
inline size_t Utf8Length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The character at `text[*offset]`, which it moves past. Valid text only.
char32_t NextChar(std::string_view text, size_t* offset);

void AppendUtf8(char32_t c, std::string* out);

/// Unicode's property White_Space.
bool IsWhiteSpace(char32_t c);

/// Symbols that are alphabetic by Unicode's property without being letters: circled, squared.
struct CharRange {
  char32_t first;
  char32_t last;
};
inline constexpr CharRange kLetterLikeSymbols[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

/// \w of Rust's regular expressions: alphabetic, mark, digit, connector, joiner.
bool IsWordChar(char32_t c);

}  // namespace prenorm
