// Chunks that stay together, then lines that are filled with them.
#include "runtime/chat_template/wordwrap.h"

#include <utf8proc.h>

#include <string>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

struct Char {
  char32_t c;
  size_t begin;  // Offset in the line.
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

// Where a line that begins at `begin` ends within a chunk that fits no line.
size_t CutOfLong(const std::vector<Char>& chars, size_t begin, Range chunk, const WrapStyle& style) {
  if (!style.break_long_words) return begin == chunk.begin ? chunk.end : chunk.begin;
  const size_t cut = begin + style.width;
  bool other = false;  // Something but hyphens so far.
  size_t behind_hyphen = 0;
  for (size_t i = chunk.begin; style.break_on_hyphens && i < cut; ++i) {
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
    chars.push_back({NextChar(line, &at), begin});
  }
  budget.Step(chars.size());
  budget.Work(chars.size() * sizeof(Char));
  const Chunker chunker(chars, style.break_on_hyphens);
  size_t known = 0;  // End of the chunk looked at last: one that is cut many times is measured once.
  const auto end_of = [&](size_t i) { return i < known ? known : known = chunker.EndOf(i); };
  const auto offset = [&](size_t i) { return i < chars.size() ? chars[i].begin : line.size(); };
  std::vector<Range> lines;
  for (size_t at = 0; at < chars.size();) {
    if (IsSpace(chars[at].c) && !lines.empty()) {  // White space ends the line before.
      at = end_of(at);
      if (at == chars.size()) break;
    }
    size_t end = at;   // Of the line,
    size_t kept = at;  // and of it without the white space at its end.
    while (end < chars.size()) {
      const size_t next = end_of(end);
      if (next - at > style.width) {
        if (next - end > style.width) {  // A chunk that fits no line.
          const bool space = IsSpace(chars[end].c);
          const size_t cut = CutOfLong(chars, at, {end, next}, style);
          // Python drops what it adds last if it is white space, or nothing: then the white space before stays.
          if (style.break_long_words ? !space : cut > end && !space) kept = cut;
          end = cut;
        }
        break;
      }
      if (!IsSpace(chars[end].c)) kept = next;
      end = next;
    }
    if (kept > at) lines.push_back({offset(at), offset(kept)});
    at = end;
  }
  return lines;
}

}  // namespace prenorm::chat_template
