// GPT-2's alphabet: 256 printable characters that stand for the bytes, so that tokens can be written as text.
#pragma once

#include <string>
#include <string_view>

namespace prenorm {

/// The character (UTF-8) of a byte. Valid forever.
std::string_view ByteLevelChar(unsigned char byte);

/// Appends the characters of all bytes.
void AppendByteLevel(std::string_view bytes, std::string* out);

/// The bytes of a token; a token with any other character stands for itself. `token` need not be valid UTF-8.
std::string DecodeByteLevel(std::string_view token);

}  // namespace prenorm
