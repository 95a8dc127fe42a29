// Longest match over a sorted list: each byte of the text narrows the range of tokens that still agree.
#include "runtime/tokenizer/added_tokens.h"

#include <algorithm>

#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

unsigned char ByteAt(const AddedToken* token, size_t i) { return static_cast<unsigned char>(token->text[i]); }

/// Offset of the character that ends before `at`.
size_t PreviousChar(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

bool TouchesWord(std::string_view text, size_t begin, size_t end) {
  if (begin > 0) {
    size_t offset = PreviousChar(text, begin);
    if (IsWordChar(NextChar(text, &offset))) return true;
  }
  return end < text.size() && IsWordChar(NextChar(text, &end));
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<const AddedToken*>& tokens) {
  for (const AddedToken* token : tokens) {
    if (token->text.empty()) continue;
    sorted_.push_back(token);
    starts_[ByteAt(token, 0)] = true;
  }
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const AddedToken* a, const AddedToken* b) { return a->text < b->text; });
}

const AddedToken* AddedTokens::LongestAt(std::string_view text, size_t at, const AllowSpecial& allow_special) const {
  const AddedToken* best = nullptr;
  auto low = sorted_.begin();
  auto high = sorted_.end();
  for (size_t depth = 0; at + depth < text.size() && low != high; ++depth) {
    const auto byte = static_cast<unsigned char>(text[at + depth]);
    low = std::partition_point(low, high,
                               [&](const AddedToken* t) { return t->text.size() <= depth || ByteAt(t, depth) < byte; });
    high = std::partition_point(low, high, [&](const AddedToken* t) { return ByteAt(t, depth) == byte; });
    // A token that ends here is the first of the range; equal texts follow each other and the first one counts.
    if (low == high || (*low)->text.size() != depth + 1) continue;
    const AddedToken* token = *low;
    const size_t end = at + depth + 1;
    if (token->special && !allow_special(at, end)) continue;
    best = token;
  }
  return best;
}

AddedTokens::Match AddedTokens::Find(std::string_view text, size_t from, size_t done,
                                     const AllowSpecial& allow_special) const {
  Match match;
  for (size_t at = from; at < text.size(); ++at) {
    if (!starts_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* token = LongestAt(text, at, allow_special);
    if (token == nullptr) continue;
    if (token->single_word && TouchesWord(text, at, at + token->text.size())) {
      at += token->text.size() - 1;  // No shorter one in its place, nor one that overlaps it.
      continue;
    }
    match.token = token;
    match.begin = std::max(at, done);
    match.next = at + token->text.size();
    match.end = std::max(match.next, done);
    while (token->lstrip && match.begin > done) {
      size_t offset = PreviousChar(text, match.begin);
      const size_t before = offset;
      if (!IsWhiteSpace(NextChar(text, &offset))) break;
      match.begin = before;
    }
    while (token->rstrip && match.end < text.size()) {
      size_t offset = match.end;
      if (!IsWhiteSpace(NextChar(text, &offset))) break;
      match.end = offset;
    }
    return match;
  }
  return match;
}

}  // namespace prenorm
