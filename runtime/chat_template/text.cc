// Cutting and joining of texts with origins; counting and trimming by characters.
#include "runtime/chat_template/text.h"

#include <utf8proc.h>

#include <algorithm>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

// Where the character before `end` begins.
size_t Before(std::string_view text, size_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

}  // namespace

size_t Text::RunAt(size_t offset) const {
  const auto it =
      std::upper_bound(runs_.begin(), runs_.end(), offset, [](size_t at, const Run& run) { return at < run.end; });
  return static_cast<size_t>(it - runs_.begin());
}

void Text::Append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void Text::Append(const Text& other, size_t begin, size_t length) {
  const size_t end = begin + length;
  for (size_t i = length == 0 ? other.runs_.size() : other.RunAt(begin); begin < end; ++i) {
    const size_t stop = std::min(end, other.runs_[i].end);
    Append(std::string_view(other.bytes_).substr(begin, stop - begin), other.runs_[i].origin);
    begin = stop;
  }
}

Text Text::Substr(size_t begin, size_t length) const {
  Text out;
  out.Append(*this, begin, length);
  return out;
}

size_t CountChars(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

size_t CharOffset(std::string_view text, size_t index) {
  size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += Utf8Length(text[offset]);
  return offset;
}

size_t CharOffsetFromEnd(std::string_view text, size_t index) {
  size_t offset = text.size();
  for (; index > 0 && offset > 0; --index) offset = Before(text, offset);
  return index > 0 ? std::string_view::npos : offset;
}

bool IsPythonSpace(char32_t c) { return IsWhiteSpace(c) || (c >= 0x1C && c <= 0x1F); }

bool IsPythonWord(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == '_' || (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

namespace {

template <typename Predicate>
Range Trim(std::string_view text, Side side, const Predicate& drops) {
  Range range{0, text.size()};
  while (side != Side::kRight && range.begin < range.end) {
    size_t next = range.begin;
    if (!drops(NextChar(text, &next))) break;
    range.begin = next;
  }
  while (side != Side::kLeft && range.begin < range.end) {
    const size_t last = Before(text, range.end);
    size_t next = last;
    if (!drops(NextChar(text, &next))) break;
    range.end = last;
  }
  return range;
}

}  // namespace

Range TrimSpace(std::string_view text, Side side) { return Trim(text, side, IsPythonSpace); }

Range TrimChars(std::string_view text, std::string_view chars, Side side) {
  std::u32string set;
  for (size_t at = 0; at < chars.size();) set.push_back(NextChar(chars, &at));
  std::sort(set.begin(), set.end());
  return Trim(text, side, [&](char32_t c) { return std::binary_search(set.begin(), set.end(), c); });
}

}  // namespace prenorm::chat_template
