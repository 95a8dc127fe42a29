// WordPiece: each word is cut into the longest tokens from the left; a word that cannot be is unknown.
#include <string>

#include "runtime/tokenizer/merge.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {
namespace {

class WordPiece : public TextModel {
 public:
  WordPiece(const TokenizerSpec& spec, const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        word_prefix_(spec.word_prefix),
        continuing_prefix_(spec.continuing_prefix),
        max_word_chars_(spec.max_word_chars) {}

  void Encode(std::string_view word, MergeScratch* scratch, std::vector<TokenId>* out) const override {
    const size_t before = out->size();
    size_t chars = 0;
    for (size_t offset = 0; offset < word.size(); offset += Utf8Length(word[offset])) ++chars;
    bool known = chars <= max_word_chars_;
    for (size_t begin = 0; known && begin < word.size();) {
      const size_t size =
          LongestToken(word.substr(begin), begin == 0 ? word_prefix_ : continuing_prefix_, scratch, out);
      known = size > 0;
      begin += size;
    }
    if (known) return;
    out->resize(before);
    if (vocabulary_.unknown >= 0) out->push_back(vocabulary_.unknown);
  }

 private:
  /// Appends the longest token at the start of `rest`; returns its bytes without the prefix, 0 if there is none.
  size_t LongestToken(std::string_view rest, const std::string& prefix, MergeScratch* scratch,
                      std::vector<TokenId>* out) const {
    std::string& text = scratch->text;
    const size_t longest = SearchedBytes(vocabulary_);
    text.assign(prefix).append(rest.substr(0, longest > prefix.size() ? longest - prefix.size() : 0));
    for (size_t size = text.size(); size > prefix.size(); --size) {
      const bool whole = size - prefix.size() == rest.size() ||
                         (static_cast<unsigned char>(rest[size - prefix.size()]) & 0xC0) != 0x80;
      if (!whole) continue;
      const TokenId id = vocabulary_.FindPlain(std::string_view(text).substr(0, size));
      if (id < 0) continue;
      out->push_back(id);
      return size - prefix.size();
    }
    return 0;
  }

  const Vocabulary& vocabulary_;
  const std::string word_prefix_;
  const std::string continuing_prefix_;
  const size_t max_word_chars_;
};

}  // namespace

std::unique_ptr<TextModel> MakeWordPiece(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  return std::make_unique<WordPiece>(spec, vocabulary);
}

}  // namespace prenorm
