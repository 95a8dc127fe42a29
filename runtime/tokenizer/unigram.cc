// SentencePiece's unigram model: the segmentation with the highest sum of scores (Viterbi; Kudo 2018).
#include <algorithm>
#include <limits>

#include "runtime/tokenizer/merge.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {
namespace {

class Unigram : public TextModel {
 public:
  explicit Unigram(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
      if (vocabulary.types[id] == TokenType::kNormal) lowest = std::min(lowest, double{vocabulary.scores[id]});
    }
    if (lowest == std::numeric_limits<double>::infinity()) lowest = 0;
    constexpr double kUnknownPenalty = 10.0;  // SentencePiece's
    unknown_score_ = lowest - kUnknownPenalty;
  }

  void Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const override {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::vector<double>& sums = scratch->sums;
    std::vector<MergeResult>& arrivals = scratch->arrivals;
    sums.assign(piece.size() + 1, kNone);
    arrivals.assign(piece.size() + 1, MergeResult{});
    sums[0] = 0;
    for (size_t begin = 0; begin < piece.size(); begin += Utf8Length(piece[begin])) {
      const auto arrive = [&](size_t end, double score, TokenId id) {
        if (sums[begin] + score <= sums[end]) return;
        sums[end] = sums[begin] + score;
        arrivals[end] = MergeResult{static_cast<uint32_t>(begin), id};
      };
      const size_t first = begin + Utf8Length(piece[begin]);
      const size_t limit = std::min(piece.size(), begin + SearchedBytes(vocabulary_));
      bool single = false;
      for (size_t end = first; end <= limit; end += end < piece.size() ? Utf8Length(piece[end]) : 1) {
        const TokenId id = vocabulary_.FindPlain(piece.substr(begin, end - begin));
        if (id < 0) continue;
        single = single || end == first;
        // User-defined tokens win against whatever they are made of.
        const bool user = vocabulary_.TypeOf(id) == TokenType::kUserDefined;
        arrive(end, user ? 0.0 : double{vocabulary_.scores[static_cast<size_t>(id)]}, id);
      }
      if (!single) arrive(first, unknown_score_, -1);
    }
    Backtrack(piece, scratch, out);
  }

 private:
  void Backtrack(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const {
    std::vector<Symbol>& symbols = scratch->symbols;
    symbols.clear();
    for (size_t end = piece.size(); end > 0; end = scratch->arrivals[end].order) {
      const MergeResult& arrival = scratch->arrivals[end];
      symbols.push_back(Symbol{arrival.id, arrival.order, static_cast<uint32_t>(end - arrival.order)});
    }
    bool in_unknown_run = false;
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
      if (symbol->id < 0) {
        vocabulary_.AppendFallback(piece.substr(symbol->begin, symbol->size), &in_unknown_run, out);
      } else {
        out->push_back(symbol->id);
        in_unknown_run = false;
      }
    }
  }

  const Vocabulary& vocabulary_;
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<TextModel> MakeUnigram(const Vocabulary& vocabulary) { return std::make_unique<Unigram>(vocabulary); }

}  // namespace prenorm
