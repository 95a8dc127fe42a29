// StreamDecoder: keeps the bytes of a character back until it is whole.
#include "prenorm/tokenizer.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

std::string WellFormed(std::string_view bytes) {
  return IsValidUtf8(bytes) ? std::string(bytes) : ReplaceInvalidUtf8(bytes);
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool continues_text, bool with_special)
    : tokenizer_(&tokenizer),
      drop_space_(tokenizer.adds_space_prefix() && !continues_text),
      with_special_(with_special) {}

std::string StreamDecoder::Push(TokenId id) {
  std::string piece = tokenizer_->Piece(id, with_special_);
  if (drop_space_ && !piece.empty()) {
    if (piece[0] == ' ') piece.erase(0, 1);
    drop_space_ = false;
  }
  pending_ += piece;
  const size_t whole = pending_.size() - IncompleteUtf8Tail(pending_);
  std::string out = WellFormed(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return out;
}

std::string StreamDecoder::Flush() {
  std::string out = WellFormed(pending_);
  pending_.clear();
  return out;
}

}  // namespace prenorm
