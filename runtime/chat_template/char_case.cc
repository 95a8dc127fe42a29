// Case by Unicode's simple mappings, and the two letters with longer ones that texts use: U+00DF and U+0130.
#include "runtime/chat_template/char_case.h"

#include <utf8proc.h>

#include <string_view>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

constexpr char32_t kSharpS = 0xDF;
constexpr char32_t kDottedCapitalI = 0x130;

std::string Upper(char32_t c) {
  std::string out;
  if (c == kSharpS) return "SS";
  AppendUtf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))), &out);
  return out;
}

std::string Title(char32_t c) {
  std::string out;
  if (c == kSharpS) return "Ss";
  AppendUtf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), &out);
  return out;
}

std::string Lower(char32_t c) {
  std::string out;
  if (c == kDottedCapitalI) return "i\xCC\x87";
  AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), &out);
  return out;
}

bool IsTitle(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_LT; }

// `map(c)` in place of each character.
template <typename Map>
Text MapChars(Budget& budget, const Text& text, Map map) {
  TextBuilder out(budget);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = NextChar(text.bytes(), &at);
    out.Add(map(c), text.OriginAt(begin));
  }
  return out.Take();
}

}  // namespace

bool IsUpper(char32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool IsLower(char32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }

bool IsLetter(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsAll(std::string_view text, bool (*of_case)(char32_t c)) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = NextChar(text, &at);
    const bool cased = IsUpper(c) || IsLower(c) || IsTitle(c);
    if (cased && !of_case(c)) return false;
    any = any || cased;
  }
  return any;
}

Text ChangeCase(Budget& budget, const Text& text, Case to) {
  return MapChars(budget, text, [to](char32_t c) {
    if (to == Case::kSwap && IsTitle(c)) return Title(c);
    const bool upper = to == Case::kUpper || (to == Case::kSwap && IsLower(c));
    return upper ? Upper(c) : Lower(c);
  });
}

Text Capitalize(Budget& budget, const Text& text) {
  return MapChars(budget, text,
                  [first = true](char32_t c) mutable { return std::exchange(first, false) ? Title(c) : Lower(c); });
}

Text TitleCase(Budget& budget, const Text& text) {
  return MapChars(budget, text, [within = false](char32_t c) mutable {
    return std::exchange(within, IsUpper(c) || IsLower(c)) ? Lower(c) : Title(c);
  });
}

Text TitleWords(Budget& budget, const Text& text) {
  return MapChars(budget, text, [starts = true](char32_t c) mutable {
    const bool ends_word = IsPythonSpace(c) ||
                           (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
    return std::exchange(starts, ends_word) ? Upper(c) : Lower(c);
  });
}

}  // namespace prenorm::chat_template
