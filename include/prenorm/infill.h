// Prompts that ask a code model for what is missing between two texts.
#pragma once

#include <string_view>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/status.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

/// The ids of a prompt after which the model writes what stands between `prefix` and `suffix`: BOS where the model has
/// it, the prefix marker, `prefix`, the suffix marker, `suffix`, the middle marker. The markers are those that the file
/// names (GGUF tokenizer.ggml.fim_pre_token_id, fim_suf_token_id, fim_mid_token_id, and their older names), else the
/// first of the usual sets that the vocabulary has whole. Markers inside the texts are text.
/// Errors      kUnsupported for a model without such markers, naming those looked for; those of Tokenizer::Encode.
/// Threads     any number at once.
/// Source      Bavarian et al. 2022, the order prefix, suffix, middle.
Result<std::vector<TokenId>> InfillPrompt(const Model& model, std::string_view prefix, std::string_view suffix);

}  // namespace prenorm
