// Tokenizer: from text to ids (added tokens, normalization, pieces, model) and back.
#include "prenorm/tokenizer.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "runtime/limits.h"
#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/merge.h"
#include "runtime/tokenizer/piece_cache.h"
#include "runtime/tokenizer/tokenizer_impl.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

/// Ranges of a text in which markers count, ascending and not touching each other.
using Ranges = std::vector<std::pair<size_t, size_t>>;

bool Covers(const Ranges& ranges, size_t begin, size_t end) {
  const auto after =
      std::partition_point(ranges.begin(), ranges.end(), [&](const auto& r) { return r.first <= begin; });
  return after != ranges.begin() && std::prev(after)->second >= end;
}

/// "▁" is a space.
std::string UnmarkSpaces(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (size_t at = 0; at < token.size();) {
    if (token.substr(at).starts_with(kSpaceMark)) {
      out.push_back(' ');
      at += kSpaceMark.size();
    } else {
      out.push_back(token[at++]);
    }
  }
  return out;
}

/// One call of Encode: its memory, and the way of a text through the steps.
class Encoding {
 public:
  explicit Encoding(const TokenizerParts& parts) : parts_(parts) {}

  Status Run(std::string_view text, const Ranges& parsed) {
    constexpr size_t kCacheFrom = 4096;  // Bytes; for less, clearing the cache costs more than it saves.
    if (text.size() >= kCacheFrom) cache_ = std::make_unique<PieceCache>(text.size());
    ids_.reserve(text.size() / 4 + 16);
    const auto allowed = [&](size_t begin, size_t end) { return Covers(parsed, begin, end); };
    for (size_t at = 0, next = 0;;) {
      const AddedTokens::Match match = parts_.raw_added->Find(text, next, at, allowed);
      const size_t end = match.token == nullptr ? text.size() : match.begin;
      if (Status status = EncodeStretch(text.substr(at, end - at), at == 0); !status.ok()) return status;
      if (match.token == nullptr) return Status();
      ids_.push_back(match.token->id);
      at = match.end;
      next = match.next;
    }
  }

  std::vector<TokenId>& ids() { return ids_; }

 private:
  /// Text between added tokens.
  Status EncodeStretch(std::string_view text, bool at_start) {
    if (text.empty()) return Status();
    if (parts_.spec.normalizer.empty()) return EncodeNormalized(text, at_start);
    normalized_text_.assign(text);
    if (Status status = Normalize(parts_.spec.normalizer, &normalized_text_); !status.ok()) return status;
    text = normalized_text_;
    const auto none = [](size_t, size_t) { return false; };
    for (size_t at = 0, next = 0;;) {
      const AddedTokens::Match match = parts_.normalized_added->Find(text, next, at, none);
      const size_t end = match.token == nullptr ? text.size() : match.begin;
      if (Status status = EncodeNormalized(text.substr(at, end - at), at_start && at == 0); !status.ok()) return status;
      if (match.token == nullptr) return Status();
      ids_.push_back(match.token->id);
      at = match.end;
      next = match.next;
    }
  }

  Status EncodeNormalized(std::string_view text, bool at_start) {
    if (Status status = splitter_.Split(parts_.spec.splits, text, at_start); !status.ok()) return status;
    for (std::string_view piece : splitter_.pieces()) {
      while (!piece.empty()) {
        const size_t bytes = parts_.cuts.FirstWord(piece);
        EncodeWord(piece.substr(0, bytes));
        piece.remove_prefix(bytes);
      }
    }
    return Status();
  }

  void EncodeWord(std::string_view word) {
    if (cache_ == nullptr || word.size() > PieceCache::kMaxBytes) {
      parts_.model->Encode(word, &scratch_, &ids_);
    } else if (!cache_->Append(word, &ids_)) {
      const size_t begin = ids_.size();
      parts_.model->Encode(word, &scratch_, &ids_);
      cache_->Keep(word, begin, ids_);
    }
  }

  const TokenizerParts& parts_;
  Splitter splitter_;
  MergeScratch scratch_;
  std::unique_ptr<PieceCache> cache_;
  std::string normalized_text_;
  std::vector<TokenId> ids_;
};

Status TooLong(size_t bytes) {
  return Status(StatusCode::kInvalidArgument, "a text of " + std::to_string(bytes) +
                                                  " bytes is too long to tokenize\nat most " +
                                                  std::to_string(kMaxTextBytes) + " bytes");
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  const TextSegment segment{text, options.parse_special};
  return EncodeSegments(std::span(&segment, 1), options.add_special, options.max_tokens);
}

Result<std::vector<TokenId>> Tokenizer::EncodeSegments(std::span<const TextSegment> segments, bool add_special,
                                                       size_t max_tokens) const try {
  // Before anything reads them: a length that is wrong is mostly one that is huge.
  size_t bytes = 0;
  for (const TextSegment& segment : segments) {
    if (segment.text.size() > kMaxTextBytes - bytes) return TooLong(segment.text.size());
    bytes += segment.text.size();
  }
  std::string joined;  // only where one valid segment is not the whole text
  std::string_view text;
  Ranges parsed;
  const bool single = segments.size() == 1 && IsValidUtf8(segments[0].text);
  if (single) {
    text = segments[0].text;
    if (segments[0].parse_special) parsed.emplace_back(0, text.size());
  } else {
    for (const TextSegment& segment : segments) {
      const size_t begin = joined.size();
      if (IsValidUtf8(segment.text))
        joined += segment.text;
      else
        joined += ReplaceInvalidUtf8(segment.text);
      if (!segment.parse_special || joined.size() == begin) continue;
      if (!parsed.empty() && parsed.back().second == begin)
        parsed.back().second = joined.size();
      else
        parsed.emplace_back(begin, joined.size());
    }
    text = joined;
  }
  if (text.size() > kMaxTextBytes) return TooLong(text.size());
  Encoding encoding(*impl_);
  if (Status status = encoding.Run(text, parsed); !status.ok()) return status;
  std::vector<TokenId>& ids = encoding.ids();
  const std::vector<TokenId>& prefix = impl_->spec.prefix;
  if (max_tokens != 0) {
    const size_t others = add_special ? prefix.size() + impl_->spec.suffix.size() : 0;
    ids.resize(std::min(ids.size(), max_tokens - std::min(max_tokens, others)));
  }
  if (add_special) {
    const bool there =
        !prefix.empty() && ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
    if (!there) ids.insert(ids.begin(), prefix.begin(), prefix.end());
    ids.insert(ids.end(), impl_->spec.suffix.begin(), impl_->spec.suffix.end());
  }
  return std::move(ids);
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for tokenizing");
}

std::string Tokenizer::Piece(TokenId id, bool with_special) const {
  if (!impl_->Contains(id)) return {};
  const Vocabulary& vocabulary = impl_->vocabulary;
  const std::string_view text = vocabulary.tokens[static_cast<size_t>(id)];
  switch (vocabulary.TypeOf(id)) {
    case TokenType::kControl:
    case TokenType::kUnknown:
      return with_special ? std::string(text) : std::string();
    case TokenType::kByte: {
      const auto byte = std::find(vocabulary.byte_tokens.begin(), vocabulary.byte_tokens.end(), id);
      if (byte == vocabulary.byte_tokens.end()) return std::string(text);
      return std::string(1, static_cast<char>(byte - vocabulary.byte_tokens.begin()));
    }
    case TokenType::kUserDefined:
    case TokenType::kAdded:
      if (impl_->spec.decoder == DecoderKind::kByteLevel) return std::string(text);
      if (impl_->spec.decoder == DecoderKind::kMarkedSpaces) return UnmarkSpaces(text);
      break;  // A word like others.
    case TokenType::kNormal:
    case TokenType::kUnused:
      break;
  }
  switch (impl_->spec.decoder) {
    case DecoderKind::kByteLevel:
      return DecodeByteLevel(text);
    case DecoderKind::kMarkedSpaces:
      return UnmarkSpaces(text);
    case DecoderKind::kWordPiece: {
      const std::string& continuing = impl_->spec.continuing_prefix;
      if (continuing.empty()) return UnmarkSpaces(text);
      if (text.starts_with(continuing)) return std::string(text.substr(continuing.size()));
      return std::string(" ").append(text);
    }
  }
  return {};
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool with_special) const {
  StreamDecoder decoder(*this, false, with_special);
  std::string out;
  for (const TokenId id : ids) out += decoder.Push(id);
  out += decoder.Flush();
  return out;
}

size_t Tokenizer::vocab_size() const { return impl_->vocabulary.tokens.size(); }

std::string_view Tokenizer::TokenText(TokenId id) const {
  return impl_->Contains(id) ? impl_->vocabulary.tokens[static_cast<size_t>(id)] : std::string_view();
}

std::optional<TokenId> Tokenizer::Find(std::string_view token_text) const {
  const TokenId id = impl_->vocabulary.map.Find(token_text);
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

TokenId Tokenizer::bos() const { return impl_->spec.bos; }

bool Tokenizer::adds_bos() const {
  const std::vector<TokenId>& prefix = impl_->spec.prefix;
  return impl_->spec.bos >= 0 && std::find(prefix.begin(), prefix.end(), impl_->spec.bos) != prefix.end();
}

TokenId Tokenizer::eos() const { return impl_->spec.end_tokens.empty() ? -1 : impl_->spec.end_tokens.front(); }

std::span<const TokenId> Tokenizer::end_tokens() const { return impl_->end_tokens; }

bool Tokenizer::IsControl(TokenId id) const {
  return impl_->Contains(id) && impl_->vocabulary.TypeOf(id) == TokenType::kControl;
}

bool Tokenizer::adds_space_prefix() const { return impl_->spec.drops_space_prefix; }

const std::vector<std::string>& Tokenizer::warnings() const { return impl_->spec.warnings; }

}  // namespace prenorm
