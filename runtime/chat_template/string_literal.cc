// Python's string escapes.
#include "runtime/chat_template/string_literal.h"

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Up to `limit` digits at `at`, which moves behind them.
char32_t Number(std::string_view body, size_t& at, size_t limit, int base, size_t& count) {
  char32_t value = 0;
  for (count = 0; count < limit && at < body.size() && DigitOf(body[at]) < base; ++count) {
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(DigitOf(body[at++]));
  }
  return value;
}

}  // namespace

const char* Unescape(std::string_view body, std::string& out) {
  for (size_t at = 0; at < body.size();) {
    const char c = body[at++];
    if (c != '\\') {
      out += c;
      continue;
    }
    const char kind = body[at++];  // The lexer never ends a literal behind a backslash.
    switch (kind) {
      case '\n':
        break;  // A line goes on.
      case '\\':
      case '\'':
      case '"':
        out += kind;
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case 'x':
      case 'u':
      case 'U': {
        const size_t width = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
        size_t count = 0;
        const char32_t value = Number(body, at, width, 16, count);
        if (count != width || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
          return "an escape in a string names no character";
        AppendUtf8(value, &out);
        break;
      }
      case 'N':
        return "escapes by a character's name (\\N) are not supported";
      default:
        if (kind >= '0' && kind <= '7') {
          --at;
          size_t count = 0;
          AppendUtf8(Number(body, at, 3, 8, count), &out);
        } else {
          out += '\\';
          out += kind;
        }
    }
  }
  return nullptr;
}

}  // namespace prenorm::chat_template
