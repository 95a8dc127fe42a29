// The tokenizer of a GGUF file.
#pragma once

#include <string>

#include "runtime/loader/metadata.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Reads the keys tokenizer.ggml.*. The tokens are views into the file, which must outlive the tokenizer; `source`
/// names it in messages. Errors: kBadModel for missing or ill-typed keys; kUnsupported for a tokenizer or pre-tokenizer
/// that Prenorm does not know, with those it does.
Result<TokenizerSpec> SpecFromGguf(const Metadata& metadata, const std::string& source);

}  // namespace prenorm
