// Finds the cuts of a vocabulary and of a text.
#include "runtime/tokenizer/word_cuts.h"

#include "runtime/tokenizer/utf8.h"

namespace prenorm {

WordCuts::WordCuts(const Vocabulary& vocabulary)
    : cuts_(vocabulary.FindPlain(kSpaceMark) >= 0 && (vocabulary.byte_fallback || vocabulary.unknown >= 0)) {
  for (size_t id = 0; cuts_ && id < vocabulary.tokens.size(); ++id) {
    const std::string_view text = vocabulary.tokens[id];
    // Most tokens do not even have the mark's first byte behind their first, and that is quicker to see.
    if (text.find(kSpaceMark[0], 1) == std::string_view::npos || vocabulary.types[id] == TokenType::kControl) continue;
    for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos; at = text.find(kSpaceMark, at + 1)) {
      const std::string_view before = text.substr(0, at);
      if (!before.ends_with(kSpaceMark)) joins_.set(static_cast<unsigned char>(before.back()));
    }
  }
}

size_t WordCuts::FirstWord(std::string_view text) const {
  if (!cuts_) return text.size();
  size_t end = 0;
  while (text.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
  while ((end = text.find(kSpaceMark, end)) != std::string_view::npos) {
    if (end > 0 && !joins_.test(static_cast<unsigned char>(text[end - 1]))) return end;
    while (text.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
  }
  return text.size();
}

}  // namespace prenorm
