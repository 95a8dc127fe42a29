// Byte fallback and the unknown token.
#include "runtime/tokenizer/vocabulary.h"

namespace prenorm {

void Vocabulary::AppendFallback(std::string_view character, bool* in_unknown_run, std::vector<TokenId>* out) const {
  if (byte_fallback) {
    bool complete = true;
    for (const char c : character) complete = complete && byte_tokens[static_cast<unsigned char>(c)] >= 0;
    if (complete) {
      for (const char c : character) out->push_back(byte_tokens[static_cast<unsigned char>(c)]);
      *in_unknown_run = false;
      return;
    }
  }
  if (unknown >= 0 && !(fuse_unknown && *in_unknown_run)) out->push_back(unknown);
  *in_unknown_run = true;
}

}  // namespace prenorm
