// tokenizer.ggml.* from a TokenizerSpec.
#include "runtime/tokenizer/gguf_entries.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/tokenizer/gguf_spec.h"
#include "runtime/tokenizer/json_spec.h"
#include "runtime/tokenizer/pretokenizers.h"
#include "runtime/tokenizer/sentencepiece_spec.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {
namespace {

// Between them every known pre-tokenizer differs somewhere from those that are not the same.
constexpr std::string_view kProbes[] = {
    "The quick brown fox can't jump over 13 lazy dogs, WON'T it? It'd've been 3.14159 or 1234567890.\n",
    "  two  spaces\tand\ttabs \n\n\n newlines\r\n end   ",
    "HTTPServer camelCase snake_case foo(bar[0])->baz != NULL; // x += 1; /* y */ #define A_B 0xFF",
    "\xC3\x9C"
    "ber caf\xC3\xA9 na\xC3\xAFve \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 "
    "\xE4\xBD\xA0\xE5\xA5\xBD\xE4\xB8\x96\xE7\x95\x8C "
    "\xE3\x81\x93\xE3\x82\x93\xE3\x81\xAB\xE3\x81\xA1\xE3\x81\xAF \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4 "
    "\xF0\x9F\x9A\x80\xF0\x9F\x8C\x8D e\xCC\x81 "
    "\xD9\xA3\xD9\xA4 \xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\x82\xE0\xA4\xA6\xE0\xA5\x80",
    "a1b22c333d4444 $5,000.00 \xE2\x82\xAC"
    "10 50% ... !!! ??? --- ''' \"\"\" ((())) <<<>>> @#^&*~`|\\/",
};

Status Unsupported(const std::string& what, const std::string& folder) {
  return Status(StatusCode::kUnsupported, what + "\n" + folder + "\nUse the folder as it is, without converting it.");
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::vector<std::string>> Pieces(const SplitSteps& steps) {
  std::vector<std::string> all;
  Splitter splitter;
  for (const std::string_view probe : kProbes) {
    if (Status status = splitter.Split(steps, probe, /*at_start=*/true); !status.ok()) return status;
    all.insert(all.end(), splitter.pieces().begin(), splitter.pieces().end());
    all.emplace_back();  // Ends a text.
  }
  return all;
}

bool NormalizesToNfc(const TokenizerSpec& spec) {
  return spec.normalizer.size() == 1 && spec.normalizer[0].kind == NormalizerStep::Kind::kNfc;
}

// Of the names that cut alike, the first whose other traits fit too.
Result<std::string> PretokenizerName(const TokenizerSpec& spec, const std::string& folder) {
  const bool nfc = NormalizesToNfc(spec);
  if (!nfc && !spec.normalizer.empty())
    return Unsupported("the tokenizer normalizes in a way that GGUF has no name for", folder);
  const Result<std::vector<std::string>> wanted = Pieces(spec.splits);
  if (!wanted.ok()) return wanted.status();
  for (const bool exactly : {true, false}) {
    for (const std::string_view name : PretokenizerNames()) {
      const Result<Pretokenizer> known = FindPretokenizer(name);
      if (!known.ok() || !known->byte_level || known->nfc != nfc) continue;
      if (exactly && known->ignore_merges != spec.ignore_merges) continue;
      const Result<std::vector<std::string>> pieces = Pieces(known->splits);
      if (pieces.ok() && *pieces == *wanted) return std::string(name);
    }
  }
  return Unsupported("the tokenizer cuts text in a way that GGUF has no name for", folder);
}

// SentencePiece's scores order the merges; tokenizer.json has their order only.
std::vector<float> ScoresOfMerges(const TokenizerSpec& spec) {
  std::unordered_map<std::string, float> score_of;
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    std::string token(spec.merges[rank].left);
    token += spec.merges[rank].right;
    score_of.emplace(std::move(token), -static_cast<float>(rank));
  }
  std::vector<float> scores(spec.tokens.size(), 0.0f);
  for (size_t id = 0; id < scores.size(); ++id) {
    if (const auto found = score_of.find(std::string(spec.tokens[id])); found != score_of.end())
      scores[id] = found->second;
  }
  return scores;
}

bool IsByteToken(std::string_view text) { return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">"); }

class Writer {
 public:
  Writer(const TokenizerSpec& spec, const std::string& folder, size_t rows, MetadataBuilder* entries)
      : spec_(spec), folder_(folder), rows_(rows), entries_(entries) {}

  Status Write() {
    const bool sentencepiece =
        spec_.kind == TokenModelKind::kSpm || (spec_.kind == TokenModelKind::kBpe && !spec_.byte_level);
    if (sentencepiece) {
      if (Status status = WriteSentencePiece(); !status.ok()) return status;
    } else if (spec_.kind == TokenModelKind::kBpe) {
      if (Status status = WriteBpe(); !status.ok()) return status;
    } else {
      return Unsupported("tokenizers of this kind are not converted: neither byte-level BPE nor SentencePiece's BPE",
                         folder_);
    }
    WriteTokens(sentencepiece);
    WriteEnds();
    return Status();
  }

 private:
  Status WriteBpe() {
    const Result<std::string> name = PretokenizerName(spec_, folder_);
    if (!name.ok()) return name.status();
    entries_->String("tokenizer.ggml.model", "gpt2");
    entries_->String("tokenizer.ggml.pre", *name);
    std::vector<std::string> merges;
    merges.reserve(spec_.merges.size());
    for (const Merge& merge : spec_.merges) merges.push_back(std::string(merge.left) + " " + std::string(merge.right));
    entries_->Strings("tokenizer.ggml.merges", merges);
    return Status();
  }

  Status WriteSentencePiece() {
    entries_->String("tokenizer.ggml.model", "llama");
    entries_->String("tokenizer.ggml.pre", "default");
    std::vector<float> scores = spec_.kind == TokenModelKind::kSpm ? spec_.scores : ScoresOfMerges(spec_);
    scores.resize(rows_, -1000.0f);
    entries_->F32s("tokenizer.ggml.scores", scores);
    // With the mark where a text begins, or without: what the folder's normalizer or its Metaspace puts there.
    entries_->Bool("tokenizer.ggml.add_space_prefix", spec_.drops_space_prefix);
    return Status();
  }

  void WriteTokens(bool sentencepiece) {
    std::vector<std::string> tokens(spec_.tokens.begin(), spec_.tokens.end());
    std::vector<int32_t> types;
    for (size_t id = 0; id < tokens.size(); ++id) {
      TokenType type = spec_.types.empty() ? TokenType::kNormal : spec_.types[id];
      if (sentencepiece && type == TokenType::kNormal && IsByteToken(tokens[id])) type = TokenType::kByte;
      if (sentencepiece && static_cast<TokenId>(id) == spec_.unknown) type = TokenType::kUnknown;
      if (type == TokenType::kAdded) type = TokenType::kUserDefined;  // GGUF has no name for it.
      types.push_back(static_cast<int32_t>(type));
    }
    tokens.resize(rows_);
    types.resize(rows_, static_cast<int32_t>(TokenType::kUnused));
    for (size_t id = 0; id < rows_; ++id) {
      if (tokens[id].empty() && types[id] == static_cast<int32_t>(TokenType::kUnused))
        tokens[id] = "[PAD" + std::to_string(id) + "]";
    }
    entries_->Strings("tokenizer.ggml.tokens", tokens);
    entries_->I32s("tokenizer.ggml.token_type", types);
  }

  void WriteEnds() {
    const auto id = [&](const char* key, TokenId value) {
      if (value >= 0) entries_->U32(std::string("tokenizer.ggml.") + key, static_cast<uint64_t>(value));
    };
    id("bos_token_id", spec_.bos);
    if (!spec_.end_tokens.empty()) id("eos_token_id", spec_.end_tokens.front());
    id("unknown_token_id", spec_.unknown);
    entries_->Bool("tokenizer.ggml.add_bos_token", !spec_.prefix.empty());
    entries_->Bool("tokenizer.ggml.add_eos_token", !spec_.suffix.empty());
  }

  const TokenizerSpec& spec_;
  const std::string& folder_;
  const size_t rows_;
  MetadataBuilder* entries_;
};

// The folder's spec; SentencePiece's own file knows the scores, tokenizer.json the added tokens.
Result<TokenizerSpec> ReadFolder(const std::string& folder) {
  Result<TokenizerSpec> spec = SpecFromHfFolder(folder);
  if (!spec.ok() || spec->kind != TokenModelKind::kBpe || spec->byte_level) return spec;
  const std::optional<std::string> model = ReadFile(folder + "/tokenizer.model");
  if (!model) return spec;
  Result<TokenizerSpec> pieces = SpecFromSentencePiece(*model, folder + "/tokenizer.model");
  if (!pieces.ok()) return pieces.status();
  if (pieces->kind != TokenModelKind::kSpm || pieces->tokens.size() > spec->tokens.size()) return spec;
  spec->kind = TokenModelKind::kSpm;
  spec->scores = std::move(pieces->scores);
  spec->scores.resize(spec->tokens.size(), -1000.0f);
  return spec;
}

Status CheckIds(const Tokenizer& folders, const Tokenizer& written, const std::string& folder) {
  for (const std::string_view probe : kProbes) {
    const Result<std::vector<TokenId>> a = folders.Encode(probe, {.add_special = true});
    const Result<std::vector<TokenId>> b = written.Encode(probe, {.add_special = true});
    if (!a.ok()) return a.status();
    if (!b.ok()) return b.status();
    if (*a != *b)
      return Unsupported("the keys of GGUF cannot say how this tokenizer works: read back, they give other ids",
                         folder);
  }
  return Status();
}

}  // namespace

Status AddTokenizerEntries(const std::string& folder, size_t rows, MetadataBuilder* entries) {
  Result<TokenizerSpec> spec = ReadFolder(folder);
  if (!spec.ok()) return spec.status();
  if (spec->tokens.size() > rows) {
    return Unsupported("the tokenizer has " + std::to_string(spec->tokens.size()) + " tokens, the embedding " +
                           std::to_string(rows) + " rows",
                       folder);
  }
  const size_t before = entries->entries().size();
  if (Status status = Writer(*spec, folder, rows, entries).Write(); !status.ok()) return status;
  Metadata written;
  for (const MetaEntry& entry : entries->entries().subspan(before)) {
    if (Status status = written.Add(entry); !status.ok()) return status;
  }
  Result<TokenizerSpec> back = SpecFromGguf(written, folder);
  if (!back.ok()) return back.status();
  const Result<std::unique_ptr<Tokenizer>> b = BuildTokenizer(std::move(back).value());
  if (!b.ok()) return b.status();
  Result<TokenizerSpec> own = SpecFromHfFolder(folder);
  if (!own.ok()) return own.status();
  const Result<std::unique_ptr<Tokenizer>> a = BuildTokenizer(std::move(own).value());
  if (!a.ok()) return a.status();
  return CheckIds(**a, **b, folder);
}

}  // namespace prenorm
