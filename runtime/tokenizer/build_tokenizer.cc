// Checks a TokenizerSpec and builds the tables of a Tokenizer.
#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "runtime/limits.h"
#include "runtime/tokenizer/tokenizer_impl.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

Status Bad(const TokenizerSpec& spec, const std::string& what) {
  return Status(StatusCode::kBadModel, "tokenizer: " + what + "\n" + spec.source);
}

Status CheckId(const TokenizerSpec& spec, TokenId id, const char* name) {
  if (id >= 0 && static_cast<size_t>(id) < spec.tokens.size()) return Status();
  return Bad(spec, std::string(name) + " is token " + std::to_string(id) + ", but the vocabulary has " +
                       std::to_string(spec.tokens.size()) + " tokens");
}

Status Check(const TokenizerSpec& spec) {
  const size_t n = spec.tokens.size();
  if (n == 0) return Bad(spec, "the vocabulary is empty");
  if (n > kMaxTokens) return Bad(spec, std::to_string(n) + " tokens, more than " + std::to_string(kMaxTokens));
  if (spec.merges.size() > kMaxMerges) return Bad(spec, "more than " + std::to_string(kMaxMerges) + " merges");
  if (!spec.types.empty() && spec.types.size() != n) {
    return Bad(spec, std::to_string(spec.types.size()) + " token types for " + std::to_string(n) + " tokens");
  }
  const bool searched = spec.kind == TokenModelKind::kUnigram || spec.kind == TokenModelKind::kWordPiece;
  for (size_t id = 0; id < n; ++id) {
    const TokenType type = spec.types.empty() ? TokenType::kNormal : spec.types[id];
    const bool plain = type == TokenType::kNormal || type == TokenType::kUserDefined || type == TokenType::kUnused;
    const size_t most = searched && plain ? kMaxSearchedTokenBytes : kMaxTokenBytes;
    if (spec.tokens[id].size() <= most) continue;
    return Bad(spec, "token " + std::to_string(id) + " has " + std::to_string(spec.tokens[id].size()) +
                         " bytes, more than " + std::to_string(most));
  }
  const bool scored = spec.kind == TokenModelKind::kSpm || spec.kind == TokenModelKind::kUnigram;
  if (scored && spec.scores.size() != n) {
    return Bad(spec, std::to_string(spec.scores.size()) + " scores for " + std::to_string(n) + " tokens");
  }
  for (size_t id = 0; id < spec.scores.size(); ++id) {
    if (std::isfinite(spec.scores[id])) continue;  // A sum that is infinite would compare with nothing.
    return Bad(spec, "the score of token " + std::to_string(id) + " is not a finite number");
  }
  if (spec.unknown >= 0) {
    if (Status status = CheckId(spec, spec.unknown, "the unknown token"); !status.ok()) return status;
  }
  if (spec.bos >= 0) {
    if (Status status = CheckId(spec, spec.bos, "the BOS token"); !status.ok()) return status;
  }
  const std::pair<const std::vector<TokenId>*, const char*> lists[] = {{&spec.prefix, "a token before the text"},
                                                                       {&spec.suffix, "a token after the text"},
                                                                       {&spec.end_tokens, "an end token"}};
  for (const auto& [ids, name] : lists) {
    for (const TokenId id : *ids) {
      if (Status status = CheckId(spec, id, name); !status.ok()) return status;
    }
  }
  for (const AddedToken& added : spec.added) {
    if (Status status = CheckId(spec, added.id, "an added token"); !status.ok()) return status;
  }
  return Status();
}

/// "<0x41>" -> 0x41, else -1.
int ByteOfToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int byte = 0;
  for (const char c : text.substr(3, 2)) {
    int digit = 0;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else
      return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

/// Tokens that the types alone make added tokens: control and unknown ones where markers are parsed, user-defined ones
/// always. Those that the file describes itself are in spec->added already.
void AddByType(TokenizerSpec* spec) {
  std::vector<bool> described(spec->tokens.size(), false);
  for (const AddedToken& added : spec->added) described[static_cast<size_t>(added.id)] = true;
  for (size_t id = 0; id < spec->types.size(); ++id) {
    const TokenType type = spec->types[id];
    const bool special = type == TokenType::kControl || type == TokenType::kUnknown;
    if (described[id] || (!special && type != TokenType::kUserDefined)) continue;
    AddedToken added;
    added.id = static_cast<TokenId>(id);
    added.text = std::string(spec->tokens[id]);
    added.special = special;
    spec->added.push_back(std::move(added));
  }
}

void FillVocabulary(TokenizerSpec* spec, Vocabulary* vocabulary) {
  vocabulary->tokens = std::move(spec->tokens);
  vocabulary->scores = std::move(spec->scores);
  vocabulary->types = std::move(spec->types);
  if (vocabulary->types.empty()) vocabulary->types.assign(vocabulary->tokens.size(), TokenType::kNormal);
  vocabulary->map.Build(vocabulary->tokens);
  vocabulary->unknown = spec->unknown;
  vocabulary->byte_fallback = spec->byte_fallback;
  vocabulary->fuse_unknown = spec->fuse_unknown;
  vocabulary->byte_tokens.fill(-1);
  if (!spec->byte_fallback) return;
  for (size_t id = 0; id < vocabulary->tokens.size(); ++id) {
    const int byte = ByteOfToken(vocabulary->tokens[id]);
    if (byte < 0) continue;
    // From here on "<0x41>" in a text is six characters.
    vocabulary->types[id] = TokenType::kByte;
    vocabulary->byte_tokens[static_cast<size_t>(byte)] = static_cast<TokenId>(id);
  }
}

Result<std::unique_ptr<TextModel>> MakeModel(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  switch (spec.kind) {
    case TokenModelKind::kBpe:
      return MakeBpe(spec, vocabulary);
    case TokenModelKind::kSpm:
      return MakeSpm(vocabulary);
    case TokenModelKind::kUnigram:
      return MakeUnigram(vocabulary);
    case TokenModelKind::kWordPiece:
      return MakeWordPiece(spec, vocabulary);
  }
  return Status(StatusCode::kUnsupported, "unknown kind of tokenizer\n" + spec.source);
}

/// Special tokens are always looked for in the text as given: only there is it known who wrote them.
bool FoundInRawText(const TokenizerSpec& spec, const AddedToken& added) {
  return added.special || !added.normalized || spec.normalizer.empty();
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> BuildTokenizer(TokenizerSpec spec) try {
  if (Status status = Check(spec); !status.ok()) return status;
  AddByType(&spec);
  auto impl = std::make_unique<Tokenizer::Impl>();
  FillVocabulary(&spec, &impl->vocabulary);
  // An added token never comes out of the model by itself, whatever its type.
  for (const AddedToken& added : spec.added) {
    if (added.special) impl->vocabulary.types[static_cast<size_t>(added.id)] = TokenType::kControl;
  }
  if (spec.unknown >= 0) {
    TokenType& type = impl->vocabulary.types[static_cast<size_t>(spec.unknown)];
    if (type != TokenType::kControl) type = TokenType::kUnknown;
  }
  Result<std::unique_ptr<TextModel>> model = MakeModel(spec, impl->vocabulary);
  if (!model.ok()) return model.status();
  impl->model = *std::move(model);
  // With ignore_merges a piece as a whole may be a token that merges do not reach.
  const bool merges_text = spec.kind == TokenModelKind::kBpe && !spec.byte_level && !spec.ignore_merges;
  if (merges_text || spec.kind == TokenModelKind::kSpm) impl->cuts = WordCuts(impl->vocabulary);
  spec.merges = {};
  spec.merge_storage.reset();

  for (AddedToken& added : spec.added) {
    if (FoundInRawText(spec, added)) continue;
    if (Status status = Normalize(spec.normalizer, &added.text); !status.ok()) return status;
  }
  impl->end_tokens = spec.end_tokens;
  std::sort(impl->end_tokens.begin(), impl->end_tokens.end());
  impl->end_tokens.erase(std::unique(impl->end_tokens.begin(), impl->end_tokens.end()), impl->end_tokens.end());
  impl->spec = std::move(spec);

  std::vector<const AddedToken*> raw;
  std::vector<const AddedToken*> normalized;
  for (const AddedToken& added : impl->spec.added) {
    (FoundInRawText(impl->spec, added) ? raw : normalized).push_back(&added);
  }
  impl->raw_added = std::make_unique<AddedTokens>(raw);
  impl->normalized_added = std::make_unique<AddedTokens>(normalized);
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for the tokenizer");
}

}  // namespace prenorm
