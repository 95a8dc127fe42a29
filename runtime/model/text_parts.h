// What a model brings along for text: its tokenizer and its chat template, in whatever form the model has.
#pragma once

#include <vector>

#include "prenorm/model.h"
#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Views of the result may point into the source.
Result<TokenizerSpec> ReadTokenizerSpec(const TensorSource& source);

/// As Model::chat_templates says. Files of a folder win over its tokenizer_config.json. Errors: kBadModel.
Result<std::vector<ChatTemplate>> ReadChatTemplates(const TensorSource& source);

}  // namespace prenorm
