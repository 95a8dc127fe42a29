// The alphabet, made by its rule: printable characters of Latin-1 stand for themselves, the other bytes for U+0100 on.
#include "runtime/tokenizer/byte_level.h"

#include <array>

#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

struct Alphabet {
  std::array<std::array<char, 2>, 256> chars{};  // UTF-8
  std::array<unsigned char, 256> sizes{};
  std::array<int, 0x180> bytes{};  // code point -> byte, -1: none

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
      const char32_t c = printable ? static_cast<char32_t>(byte) : next++;
      bytes[c] = byte;
      std::string text;
      AppendUtf8(c, &text);
      const auto i = static_cast<size_t>(byte);
      sizes[i] = static_cast<unsigned char>(text.size());
      for (size_t k = 0; k < text.size(); ++k) chars[i][k] = text[k];
    }
  }
};

const Alphabet& TheAlphabet() {
  static const Alphabet alphabet;
  return alphabet;
}

}  // namespace

std::string_view ByteLevelChar(unsigned char byte) {
  const Alphabet& alphabet = TheAlphabet();
  return {alphabet.chars[byte].data(), alphabet.sizes[byte]};
}

void AppendByteLevel(std::string_view bytes, std::string* out) {
  const Alphabet& alphabet = TheAlphabet();
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out->append(alphabet.chars[byte].data(), alphabet.sizes[byte]);
  }
}

std::string DecodeByteLevel(std::string_view token) {
  const Alphabet& alphabet = TheAlphabet();
  if (!IsValidUtf8(token)) return std::string(token);
  std::string out;
  out.reserve(token.size());
  for (size_t offset = 0; offset < token.size();) {
    const char32_t c = NextChar(token, &offset);
    const int byte = c < alphabet.bytes.size() ? alphabet.bytes[c] : -1;
    if (byte < 0) return std::string(token);
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

}  // namespace prenorm
