// The parts of a tokenizer.json around the model: normalizer, pre-tokenizer, post-processor, decoder.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Reads the four members of `root` into `spec`; an absent or null member does nothing. Errors: kUnsupported for a type
/// that Prenorm does not know, kBadModel for members of the wrong type.
Status ReadJsonPipeline(simdjson::dom::object root, TokenizerSpec* spec);

/// Members with a default for absent ones.
std::string_view JsonString(simdjson::dom::element object, std::string_view key, std::string_view otherwise);
bool JsonBool(simdjson::dom::element object, std::string_view key, bool otherwise);

}  // namespace prenorm
