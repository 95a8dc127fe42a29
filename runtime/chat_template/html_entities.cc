// HTML's rules for what follows an ampersand, as far as they concern texts.
#include "runtime/chat_template/html_entities.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

constexpr size_t kMaxNameChars = 32;
constexpr size_t kMaxOldName = 6;  // Bytes of the longest that needs no semicolon.

// Of U+00A0 and the characters behind it. These, and kOldNames, need no semicolon.
constexpr std::array<std::string_view, 96> kLatinNames = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
    "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
    "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
    "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
    "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
    "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
    "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
    "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
    "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

struct Named {
  std::string_view name;
  char32_t c;
};
constexpr Named kOldNames[] = {{"amp", U'&'}, {"AMP", U'&'},  {"lt", U'<'},   {"LT", U'<'},      {"gt", U'>'},
                               {"GT", U'>'},  {"quot", U'"'}, {"QUOT", U'"'}, {"COPY", U'\xA9'}, {"REG", U'\xAE'}};
constexpr Named kOtherNames[] = {{"apos", U'\''},      {"hellip", U'\x2026'}, {"ndash", U'\x2013'},
                                 {"mdash", U'\x2014'}, {"lsquo", U'\x2018'},  {"rsquo", U'\x2019'},
                                 {"ldquo", U'\x201C'}, {"rdquo", U'\x201D'},  {"bull", U'\x2022'},
                                 {"euro", U'\x20AC'},  {"trade", U'\x2122'}};

// What browsers take numbers from 0x80 on for: Windows' code page 1252.
constexpr char32_t kWindows[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                   0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                   0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

std::optional<char32_t> FindIn(const Named* begin, const Named* end, std::string_view name) {
  const Named* found = std::find_if(begin, end, [&](const Named& known) { return known.name == name; });
  if (found == end) return std::nullopt;
  return found->c;
}

std::optional<char32_t> OldName(std::string_view name) {
  const auto* latin = std::find(kLatinNames.begin(), kLatinNames.end(), name);
  if (latin != kLatinNames.end()) return static_cast<char32_t>(0xA0 + (latin - kLatinNames.begin()));
  return FindIn(std::begin(kOldNames), std::end(kOldNames), name);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

/// What stands in place of the first `size` bytes.
struct Entity {
  size_t size = 0;  // 0: there is none.
  std::string text;
};

Entity Character(size_t size, char32_t c) {
  Entity entity{size, {}};
  AppendUtf8(c, &entity.text);
  return entity;
}

// Of "&#..."
Entity Number(std::string_view text) {
  const bool hex = text.size() > 2 && (text[2] | 32) == 'x';
  const size_t begin = hex ? 3 : 2;
  size_t end = begin;
  char32_t c = 0;
  for (; end < text.size(); ++end) {
    const char digit = text[end];
    if (!IsDigit(digit) && !(hex && (digit | 32) >= 'a' && (digit | 32) <= 'f')) break;
    const int value = IsDigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10;
    c = std::min<char32_t>(c * (hex ? 16 : 10) + static_cast<char32_t>(value), 0x110000);
  }
  if (end == begin) return {};
  const size_t size = end + (text.substr(end).starts_with(';') ? 1 : 0);
  if (c >= 0x80 && c < 0xA0) return Character(size, kWindows[c - 0x80]);
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return Character(size, 0xFFFD);
  const bool control = c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r';
  if (control || c == 0x7F || (c >= 0xFDD0 && c < 0xFDF0) || (c & 0xFFFE) == 0xFFFE) return {size, {}};
  return Character(size, c);
}

// Of "&name", with or without a semicolon; without one, the longest name that it begins with.
Entity Name(std::string_view text) {
  size_t end = 1;
  for (size_t chars = 0; end < text.size() && chars < kMaxNameChars; ++chars) {
    if (std::string_view("\t\n\f <&#;").find(text[end]) != std::string_view::npos) break;
    end += Utf8Length(text[end]);
  }
  const std::string_view name = text.substr(1, end - 1);
  if (!name.empty() && text.substr(end).starts_with(';')) {
    auto c = OldName(name);
    if (!c) c = FindIn(std::begin(kOtherNames), std::end(kOtherNames), name);
    if (c) return Character(end + 1, *c);
    if (std::all_of(name.begin(), name.end(), [](char x) { return IsDigit(x) || IsLetter(x); })) {
      throw TemplateError("striptags: the entity &" + std::string(name) +
                              "; is not supported; these are: amp lt gt quot apos, those of Latin-1, and hellip ndash "
                              "mdash lsquo rsquo ldquo rdquo bull euro trade",
                          ErrorKind::kUnsupported);
    }
  }
  for (size_t size = std::min(name.size(), kMaxOldName); size > 1; --size) {
    if (const auto c = OldName(name.substr(0, size))) return Character(1 + size, *c);
  }
  return {};
}

}  // namespace

Text UnescapeHtml(Budget& budget, const Text& text) {
  const std::string& bytes = text.bytes();
  TextBuilder out(budget);
  size_t done = 0;
  for (size_t at = 0; (at = bytes.find('&', at)) != std::string::npos;) {
    budget.Step();
    const std::string_view rest = std::string_view(bytes).substr(at);
    const Entity entity = rest.starts_with("&#") ? Number(rest) : Name(rest);
    if (entity.size == 0) {
      ++at;
      continue;
    }
    out.Add(text, done, at - done);
    out.Add(entity.text, text.OriginAt(at));
    at += entity.size;
    done = at;
  }
  out.Add(text, done, bytes.size() - done);
  return out.Take();
}

}  // namespace prenorm::chat_template
