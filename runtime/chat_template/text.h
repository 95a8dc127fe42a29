// Strings that know for each byte who wrote it: the template, whose markers become control tokens, or the caller's
// data, whose markers stay text (case T13).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_template/budget.h"

namespace prenorm::chat_template {

enum class Origin : unsigned char { kTemplate, kData };

/// Valid UTF-8 with origins. Everything that cuts or joins strings is built from Append and Substr, which carry the
/// origins along; so no filter or method can lose them.
class Text {
 public:
  struct Run {
    size_t end;  ///< Offset behind its last byte.
    Origin origin;
  };

  Text() = default;
  Text(std::string_view bytes, Origin origin) { Append(bytes, origin); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Run>& runs() const { return runs_; }  ///< Neighbours differ in origin; none is empty.
  Origin OriginAt(size_t offset) const { return runs_[RunAt(offset)].origin; }

  void Append(std::string_view bytes, Origin origin);
  /// `begin` + `length` must lie within `other`, which may not be this text.
  void Append(const Text& other, size_t begin, size_t length);
  void Append(const Text& other) { Append(other, 0, other.size()); }

  Text Substr(size_t begin, size_t length) const;

  /// Whether it counts as HTML already (`safe`, `escape`): what is added to it or formatted into it is escaped first,
  /// as Jinja's Markup does. Append and Substr do not carry it along; see markup.h.
  bool is_markup() const { return is_markup_; }
  void set_markup(bool is_markup) { is_markup_ = is_markup; }

 private:
  size_t RunAt(size_t offset) const;

  std::string bytes_;
  std::vector<Run> runs_;
  bool is_markup_ = false;
};

/// Puts a text together within a budget: the only way to make one whose size the template chooses.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(budget) {}

  void Add(std::string_view bytes, Origin origin = Origin::kTemplate) {
    Charge(bytes.size());
    text_.Append(bytes, origin);
  }
  void Add(const Text& text) { Add(text, 0, text.size()); }
  void Add(const Text& text, size_t begin, size_t length) {
    Charge(length);
    text_.Append(text, begin, length);
  }
  void Repeat(const Text& text, size_t times) {
    if (text.empty()) return;
    if (times > budget_.limits().string_bytes) budget_.CheckString(times);  // Not only after as many steps.
    for (size_t i = 0; i < times; ++i) Add(text);
  }

  size_t size() const { return text_.size(); }
  Text Take() { return std::move(text_); }

 private:
  void Charge(size_t bytes) {
    budget_.Step();
    budget_.Work(bytes);
    budget_.CheckString(text_.size() + bytes);
  }

  Budget& budget_;
  Text text_;
};

/// Characters (code points) of valid UTF-8.
size_t CountChars(std::string_view text);
/// Offset of the character with this index; the size for the index behind the last.
size_t CharOffset(std::string_view text, size_t index);
/// The same counted from the end, where 1 is the last; npos where there are not that many.
size_t CharOffsetFromEnd(std::string_view text, size_t index);

/// White space as Python's str.isspace has it: Unicode's, and the four information separators.
bool IsPythonSpace(char32_t c);
/// Python's \w: letters, numbers of all kinds, "_".
bool IsPythonWord(char32_t c);

/// Which ends to trim.
enum class Side { kLeft, kRight, kBoth };

/// The range of `text` that is left without white space at its ends ...
struct Range {
  size_t begin;
  size_t end;
};
Range TrimSpace(std::string_view text, Side side);
/// ... or without any of `chars`.
Range TrimChars(std::string_view text, std::string_view chars, Side side);

}  // namespace prenorm::chat_template
