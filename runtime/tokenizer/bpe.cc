// Byte-pair encoding by ranked merges (Sennrich et al. 2016), on GPT-2's bytes or on characters with byte fallback.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/merge.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {
namespace {

class Bpe : public TextModel {
 public:
  Bpe(const TokenizerSpec& spec, const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), byte_level_(spec.byte_level), ignore_merges_(spec.ignore_merges) {
    for (size_t byte = 0; byte < 256; ++byte) {
      byte_ids_[byte] = vocabulary.FindPlain(ByteLevelChar(static_cast<unsigned char>(byte)));
    }
  }

  Status AddMerges(const TokenizerSpec& spec) {
    merges_.Reserve(spec.merges.size());
    constexpr size_t kBlock = 32;
    std::array<uint64_t, 2 * kBlock> hashes;
    std::string joined;
    // Vocabularies made by training list the results of the merges in their order: then the id is
    // known without a search.
    TokenId guess = -1;
    for (size_t begin = 0; begin < spec.merges.size(); begin += kBlock) {
      const size_t n = std::min(kBlock, spec.merges.size() - begin);
      const Merge* block = &spec.merges[begin];
      for (size_t i = 0; i < n; ++i) {
        hashes[2 * i] = HashBytes(block[i].left);
        hashes[2 * i + 1] = HashBytes(block[i].right);
      }
      for (size_t i = 0; i < 2 * n; ++i) vocabulary_.map.PrefetchSlot(hashes[i]);
      for (size_t i = 0; i < 2 * n; ++i) vocabulary_.map.PrefetchView(hashes[i]);
      for (size_t i = 0; i < 2 * n; ++i) vocabulary_.map.PrefetchText(hashes[i]);
      for (size_t i = 0; i < n; ++i) {
        const Merge& merge = block[i];
        const TokenId left = vocabulary_.map.FindHashed(merge.left, hashes[2 * i]);
        const TokenId right = vocabulary_.map.FindHashed(merge.right, hashes[2 * i + 1]);
        TokenId result = guess < 0 ? -1 : guess + 1;
        if (result < 0 || !IsJoin(result, merge)) {
          joined.assign(merge.left).append(merge.right);
          result = vocabulary_.map.Find(joined);
        }
        guess = result;
        if (left < 0 || right < 0 || result < 0) {
          return Status(StatusCode::kBadModel, "the tokenizer merges tokens that are not in its vocabulary\n" +
                                                   spec.source + ", merge " + std::to_string(begin + i) + ": \"" +
                                                   std::string(merge.left) + "\" and \"" + std::string(merge.right) +
                                                   "\"");
        }
        merges_.Insert(left, right, MergeResult{static_cast<uint32_t>(begin + i), result});
      }
    }
    return Status();
  }

  void Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const override {
    if (ignore_merges_) {
      const TokenId id = FindWhole(piece, scratch);
      if (id >= 0) {
        out->push_back(id);
        return;
      }
    }
    if (byte_level_)
      StartWithBytes(piece, scratch);
    else
      StartWithChars(piece, scratch);
    MergeSymbols(scratch, [this](const Symbol& a, const Symbol& b) { return merges_.Find(a.id, b.id); });
    bool in_unknown_run = false;
    for (const Symbol& symbol : scratch->symbols) {
      if (symbol.id < 0) {
        vocabulary_.AppendFallback(piece.substr(symbol.begin, symbol.size), &in_unknown_run, out);
      } else {
        out->push_back(symbol.id);
        in_unknown_run = false;
      }
    }
  }

 private:
  bool IsJoin(TokenId id, const Merge& merge) const {
    if (static_cast<size_t>(id) >= vocabulary_.tokens.size()) return false;
    const std::string_view text = vocabulary_.tokens[static_cast<size_t>(id)];
    return text.size() == merge.left.size() + merge.right.size() && text.starts_with(merge.left) &&
           text.ends_with(merge.right);
  }

  TokenId FindWhole(std::string_view piece, MergeScratch* scratch) const {
    if (!byte_level_) return vocabulary_.FindPlain(piece);
    if (piece.size() > vocabulary_.map.max_bytes()) return -1;
    scratch->text.clear();
    AppendByteLevel(piece, &scratch->text);
    return vocabulary_.FindPlain(scratch->text);
  }

  void StartWithBytes(std::string_view piece, MergeScratch* scratch) const {
    scratch->symbols.clear();
    for (size_t i = 0; i < piece.size(); ++i) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(piece[i])];
      // Vocabularies may leave out bytes that their training text had not; the reference skips those.
      if (id < 0 && vocabulary_.unknown < 0) continue;
      scratch->symbols.push_back(Symbol{id, static_cast<uint32_t>(i), 1});
    }
  }

  void StartWithChars(std::string_view piece, MergeScratch* scratch) const {
    scratch->symbols.clear();
    for (size_t begin = 0; begin < piece.size();) {
      const size_t size = Utf8Length(piece[begin]);
      const TokenId id = vocabulary_.FindPlain(piece.substr(begin, size));
      // Without bytes and an unknown token the reference leaves such a character out: its neighbours may join.
      if (id >= 0 || vocabulary_.byte_fallback || vocabulary_.unknown >= 0) {
        scratch->symbols.push_back(Symbol{id, static_cast<uint32_t>(begin), static_cast<uint32_t>(size)});
      }
      begin += size;
    }
  }

  const Vocabulary& vocabulary_;
  const bool byte_level_;
  const bool ignore_merges_;
  std::array<TokenId, 256> byte_ids_{};
  PairMap merges_;
};

}  // namespace

Result<std::unique_ptr<TextModel>> MakeBpe(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  auto bpe = std::make_unique<Bpe>(spec, vocabulary);
  if (Status status = bpe->AddMerges(spec); !status.ok()) return status;
  return std::unique_ptr<TextModel>(std::move(bpe));
}

}  // namespace prenorm
