// The tokenizer of a Hugging Face folder: tokenizer.json with the small files beside it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Reads the text of a tokenizer.json (models BPE, WordPiece, Unigram). The result owns what it needs;
/// `source` names the file in messages. Errors: kBadModel for ill-formed JSON or members; kUnsupported for
/// parts Prenorm does not know.
Result<TokenizerSpec> SpecFromTokenizerJson(std::string_view json, const std::string& source);

/// Reads tokenizer.json of `folder`, tokenizer.model or vocab.txt, the first that is there, then BOS and end tokens
/// from tokenizer_config.json, generation_config.json and config.json as far as they are there. Errors as above;
/// kNotFound if the folder has no tokenizer; kIo.
Result<TokenizerSpec> SpecFromHfFolder(const std::string& folder);

}  // namespace prenorm
