// Chunks that stay together, then lines that are filled with them.
#include "runtime/chat_template/wordwrap.h"

#include <utf8proc.h>

#include <string>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

struct Char {
  char32_t c;
  size_t begin;   // Offset in the line.
  size_t behind;  // Index of the first character from here on that Python's strip leaves.
};

// ASCII's white space alone, as Python's module says.
bool IsSpace(char32_t c) { return (c >= 0x09 && c <= 0x0D) || c == ' '; }

bool IsWord(char32_t c) { return IsPythonWord(c); }
bool IsNumber(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND; }
bool IsLetter(char32_t c) { return IsWord(c) && !IsNumber(c); }
bool IsWordPunctuation(char32_t c) {
  return IsWord(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) != std::string_view::npos);
}

class Chunker {
 public:
  Chunker(const std::vector<Char>& chars, bool on_hyphens) : chars_(chars), on_hyphens_(on_hyphens) {}

  /// Index behind the chunk that begins at `begin`.
  size_t EndOf(size_t begin) const {
    size_t end = begin + 1;
    if (IsSpace(chars_[begin].c)) {
      while (end < chars_.size() && IsSpace(chars_[end].c)) ++end;
      return end;
    }
    if (on_hyphens_ && BeginsDash(begin)) return DashEnd(begin);
    for (; end < chars_.size() && !IsSpace(chars_[end].c); ++end) {
      if (!on_hyphens_) continue;
      if (BeginsDash(end)) return end;
      if (At(end) == '-' && BreaksBehind(begin, end)) return end + 1;
    }
    return end;
  }

 private:
  char32_t At(size_t i) const { return i < chars_.size() ? chars_[i].c : U'\0'; }

  size_t DashEnd(size_t i) const {
    while (At(i) == '-') ++i;
    return i;
  }

  // "--" or longer between a word and a word.
  bool BeginsDash(size_t i) const {
    if (i == 0 || At(i) != '-' || !IsWordPunctuation(At(i - 1))) return false;
    const size_t end = DashEnd(i);
    return end - i >= 2 && IsWord(At(end));
  }

  // The hyphen at `i`: behind two letters, or two with a hyphen between them, and before two such.
  bool BreaksBehind(size_t begin, size_t i) const {
    if (i <= begin) return false;
    const bool two = i >= 2 && IsLetter(At(i - 1)) && IsLetter(At(i - 2));
    const bool hyphenated = i >= 3 && IsLetter(At(i - 1)) && At(i - 2) == '-' && IsLetter(At(i - 3));
    if (!two && !hyphenated) return false;
    if (!IsLetter(At(i + 1))) return false;
    return IsLetter(At(i + 2)) || (At(i + 2) == '-' && IsLetter(At(i + 3)));
  }

  const std::vector<Char>& chars_;
  const bool on_hyphens_;
};

// Where a line that begins at `begin` ends within what is left, from `chunk` on, of a chunk that fits no line.
size_t CutOfLong(const std::vector<Char>& chars, size_t begin, size_t chunk, const WrapStyle& style) {
  const size_t cut = begin + style.width;
  bool other = false;  // Something but hyphens so far.
  size_t behind_hyphen = 0;
  for (size_t i = chunk; style.break_on_hyphens && i < cut; ++i) {
    if (chars[i].c != '-')
      other = true;
    else if (other)
      behind_hyphen = i + 1;
  }
  return behind_hyphen > 0 ? behind_hyphen : cut;
}

}  // namespace

std::vector<Range> WrapLine(Budget& budget, std::string_view line, const WrapStyle& style) {
  std::vector<Char> chars;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = at;
    chars.push_back({NextChar(line, &at), begin, 0});
  }
  budget.Step(chars.size());
  budget.Work(chars.size() * sizeof(Char));
  for (size_t i = chars.size(), behind = i; i-- > 0;) chars[i].behind = behind = IsPythonSpace(chars[i].c) ? behind : i;
  const Chunker chunker(chars, style.break_on_hyphens);
  size_t known = 0;  // End of the chunk looked at last: one that is cut many times is measured once.
  const auto end_of = [&](size_t i) { return i < known ? known : known = chunker.EndOf(i); };
  const auto offset = [&](size_t i) { return i < chars.size() ? chars[i].begin : line.size(); };
  const auto blank = [&](size_t begin, size_t end) { return begin == end || chars[begin].behind >= end; };
  std::vector<Range> lines;
  for (size_t at = 0; at < chars.size();) {
    if (!lines.empty() && blank(at, end_of(at))) at = end_of(at);  // White space ends the line before.
    size_t last = at;                                              // Where the last piece of the line begins,
    size_t end = at;                                               // and where it ends.
    while (end < chars.size()) {
      const size_t next = end_of(end);
      const bool fits = next - at <= style.width;
      if (!fits && next - end <= style.width) break;
      if (!fits && !style.break_long_words && end > at) break;
      last = end;
      end = fits || !style.break_long_words ? next : CutOfLong(chars, at, end, style);
      if (!fits) break;
    }
    // Python drops the last piece if it is white space, or nothing: then the white space before stays.
    const size_t kept = blank(last, end) ? last : end;
    if (kept > at) lines.push_back({offset(at), offset(kept)});
    at = end;
  }
  return lines;
}

}  // namespace prenorm::chat_template
