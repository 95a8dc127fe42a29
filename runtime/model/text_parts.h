// What a model brings along for text: its tokenizer and its chat template, in whatever form the model has.
#pragma once

#include <string>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Views of the result may point into the source.
Result<TokenizerSpec> ReadTokenizerSpec(const TensorSource& source);

/// Jinja source: GGUF tokenizer.chat_template; in a folder chat_template.jinja, else chat_template of
/// tokenizer_config.json (of several the one named "default"). Empty if there is none. Errors: kBadModel.
Result<std::string> ReadChatTemplate(const TensorSource& source);

}  // namespace prenorm
