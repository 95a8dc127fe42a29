// SentencePiece's BPE: neighbours merge whenever their text is a token, the one with the highest score first.
#include <array>
#include <bit>

#include "runtime/tokenizer/merge.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {
namespace {

/// Higher scores give lower orders; total over all floats but NaN, which BuildTokenizer refuses.
uint32_t OrderOfScore(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 and 0 are equal
  const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

class Spm : public TextModel {
 public:
  explicit Spm(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    for (size_t c = 0; c < ascii_.size(); ++c) {
      const char text = static_cast<char>(c);
      ascii_[c] = vocabulary.FindPlain(std::string_view(&text, 1));
    }
  }

  void Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const override {
    scratch->symbols.clear();
    for (size_t begin = 0; begin < piece.size();) {
      const size_t size = Utf8Length(piece[begin]);
      const TokenId id = size == 1 ? ascii_[static_cast<unsigned char>(piece[begin])]
                                   : vocabulary_.FindPlain(piece.substr(begin, size));
      scratch->symbols.push_back(Symbol{id, static_cast<uint32_t>(begin), static_cast<uint32_t>(size)});
      begin += size;
    }
    MergeSymbols(scratch, [&](const Symbol& a, const Symbol& b) {
      const TokenId id = vocabulary_.FindPlain(piece.substr(a.begin, size_t{a.size} + b.size));
      if (id < 0) return MergeResult{};
      return MergeResult{OrderOfScore(vocabulary_.scores[static_cast<size_t>(id)]), id};
    });
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

  const Vocabulary& vocabulary_;
  std::array<TokenId, 128> ascii_;  // ids of single characters: a third of all look-ups
};

}  // namespace

std::unique_ptr<TextModel> MakeSpm(const Vocabulary& vocabulary) { return std::make_unique<Spm>(vocabulary); }

}  // namespace prenorm
