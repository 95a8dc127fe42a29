// The tokenizer of a SentencePiece model file (tokenizer.model).
#pragma once

#include <string>
#include <string_view>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Reads a serialized ModelProto (sentencepiece_model.proto) of type BPE or unigram. The result owns what it needs.
/// Errors: kBadModel for bytes that are no such message; kUnsupported for the types word and char.
Result<TokenizerSpec> SpecFromSentencePiece(std::string_view bytes, const std::string& source);

}  // namespace prenorm
