// SentencePiece's BPE: neighbours merge whenever their text is a token, the one with the highest score first.
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
  explicit Spm(const Vocabulary& vocabulary) : vocabulary_(vocabulary), cuts_at_marks_(!HasInnerMark(vocabulary)) {}

  void Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const override {
    bool in_unknown_run = false;
    if (!cuts_at_marks_) {
      EncodeWhole(piece, scratch, &in_unknown_run, out);
      return;
    }
    // No token goes on with a space mark after other text, so words can be merged one by one.
    while (!piece.empty()) {
      size_t end = 0;
      while (piece.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
      end = std::min(piece.find(kSpaceMark, end), piece.size());
      EncodeWhole(piece.substr(0, end), scratch, &in_unknown_run, out);
      piece.remove_prefix(end);
    }
  }

 private:
  static bool HasInnerMark(const Vocabulary& vocabulary) {
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
      if (vocabulary.types[id] != TokenType::kNormal) continue;
      std::string_view text = vocabulary.tokens[id];
      while (text.starts_with(kSpaceMark)) text.remove_prefix(kSpaceMark.size());
      // Most tokens do not even have the mark's first byte, and that is quicker to see.
      if (text.find(kSpaceMark[0]) != std::string_view::npos && text.find(kSpaceMark) != std::string_view::npos)
        return true;
    }
    return false;
  }

  void EncodeWhole(std::string_view piece, MergeScratch* scratch, bool* in_unknown_run,
                   std::vector<TokenId>* out) const {
    scratch->symbols.clear();
    for (size_t begin = 0; begin < piece.size();) {
      const size_t size = Utf8Length(piece[begin]);
      scratch->symbols.push_back(Symbol{vocabulary_.FindPlain(piece.substr(begin, size)), static_cast<uint32_t>(begin),
                                        static_cast<uint32_t>(size)});
      begin += size;
    }
    MergeSymbols(scratch, [&](const Symbol& a, const Symbol& b) {
      const TokenId id = vocabulary_.FindPlain(piece.substr(a.begin, size_t{a.size} + b.size));
      if (id < 0) return MergeResult{};
      return MergeResult{OrderOfScore(vocabulary_.scores[static_cast<size_t>(id)]), id};
    });
    for (const Symbol& symbol : scratch->symbols) {
      if (symbol.id < 0) {
        vocabulary_.AppendFallback(piece.substr(symbol.begin, symbol.size), in_unknown_run, out);
      } else {
        out->push_back(symbol.id);
        *in_unknown_run = false;
      }
    }
  }

  const Vocabulary& vocabulary_;
  const bool cuts_at_marks_;
};

}  // namespace

std::unique_ptr<TextModel> MakeSpm(const Vocabulary& vocabulary) { return std::make_unique<Spm>(vocabulary); }

}  // namespace prenorm
