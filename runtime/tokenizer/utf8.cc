// UTF-8 validation by simdjson; repair as the Unicode standard recommends (maximal subparts).
#include "runtime/tokenizer/utf8.h"

#include <simdjson.h>
#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace prenorm {
namespace {

/// What a lead byte allows (Unicode 15, table 3-7): number of bytes, and the range of the second one. 0 bytes: no lead.
struct LeadRule {
  size_t length;
  unsigned char second_min;
  unsigned char second_max;
};

LeadRule RuleOf(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

/// Bytes of the longest prefix of `text` that begins a character; `*complete` tells whether it is one. At least 1.
size_t MaximalSubpart(std::string_view text, bool* complete) {
  const LeadRule rule = RuleOf(static_cast<unsigned char>(text[0]));
  *complete = rule.length == 1;
  if (rule.length <= 1) return 1;
  size_t n = 1;
  while (n < rule.length && n < text.size()) {
    const auto byte = static_cast<unsigned char>(text[n]);
    const bool fits = n == 1 ? byte >= rule.second_min && byte <= rule.second_max : (byte & 0xC0) == 0x80;
    if (!fits) break;
    ++n;
  }
  *complete = n == rule.length;
  return n;
}

}  // namespace

bool IsValidUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    bool complete = false;
    const size_t n = MaximalSubpart(text, &complete);
    out.append(complete ? text.substr(0, n) : kReplacementCharacter);
    text.remove_prefix(n);
  }
  return out;
}

size_t IncompleteUtf8Tail(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if ((static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) continue;
    bool complete = false;
    const size_t n = MaximalSubpart(tail, &complete);
    const bool is_lead = RuleOf(static_cast<unsigned char>(tail[0])).length > 1;
    return is_lead && !complete && n == back ? back : 0;
  }
  return 0;
}

char32_t NextChar(std::string_view text, size_t* offset) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data()) + *offset;
  const size_t n = Utf8Length(static_cast<char>(p[0]));
  *offset += n;
  switch (n) {
    case 1:
      return p[0];
    case 2:
      return static_cast<char32_t>((p[0] & 0x1F) << 6 | (p[1] & 0x3F));
    case 3:
      return static_cast<char32_t>((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));
    default:
      return static_cast<char32_t>((p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F));
  }
}

void AppendUtf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | c >> 18));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsWordChar(char32_t c) {
  const bool letter_like = std::any_of(std::begin(kLetterLikeSymbols), std::end(kLetterLikeSymbols),
                                       [c](const CharRange& range) { return c >= range.first && c <= range.last; });
  if (letter_like || c == 0x200C || c == 0x200D) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

}  // namespace prenorm
