// Reading and walking the double array of a Charsmap; every index is checked, since the file may be hostile.
#include "runtime/tokenizer/charsmap.h"

#include <algorithm>
#include <cstring>

#include "runtime/limits.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

// A unit of darts-clone packs: bits 0-7 label and bit 31 (a value unit), bit 8 has_leaf, bit 9 and 10-30 the offset.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFFu; }
uint32_t Label(uint32_t unit) { return unit & 0x800000FFu; }
uint32_t Offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); }

}  // namespace

Result<std::shared_ptr<const Charsmap>> Charsmap::Parse(std::string_view blob) {
  uint32_t trie_bytes = 0;
  const Status bad(StatusCode::kBadModel, "precompiled_charsmap of the tokenizer is damaged");
  if (blob.size() < sizeof(trie_bytes)) return bad;
  std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  blob.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > blob.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0) return bad;
  auto map = std::make_shared<Charsmap>();
  map->units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(map->units_.data(), blob.data(), trie_bytes);
  map->replacements_.assign(blob.substr(trie_bytes));
  if (!IsValidUtf8(map->replacements_)) return bad;
  return std::shared_ptr<const Charsmap>(std::move(map));
}

size_t Charsmap::Longest(std::string_view text, std::string_view* replacement) const {
  size_t best = 0;
  uint32_t node = Offset(units_[0]);
  for (size_t i = 0; i < std::min(text.size(), kMaxCharsmapKeyBytes); ++i) {  // A hostile table has no longest key.
    const uint32_t byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || Label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= units_.size()) break;
    const uint32_t at = Value(units_[node]);
    // A match may only end between characters.
    const bool whole = i + 1 == text.size() || (static_cast<unsigned char>(text[i + 1]) & 0xC0) != 0x80;
    if (at >= replacements_.size() || !whole || (static_cast<unsigned char>(replacements_[at]) & 0xC0) == 0x80)
      continue;
    best = i + 1;
    const size_t end = replacements_.find('\0', at);
    *replacement = std::string_view(replacements_).substr(at, end == std::string::npos ? end : end - at);
  }
  return best;
}

std::string Charsmap::Apply(std::string_view text, size_t most) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty() && out.size() <= most) {
    std::string_view replacement;
    size_t n = Longest(text, &replacement);
    if (n == 0) {
      n = Utf8Length(text[0]);
      replacement = text.substr(0, n);
    }
    out.append(replacement);
    text.remove_prefix(n);
  }
  return out;
}

}  // namespace prenorm
