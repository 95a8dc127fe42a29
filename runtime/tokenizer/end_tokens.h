// Markers that end an answer by their name, for files that do not list all of them.
#pragma once

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// Adds to spec->end_tokens the control tokens whose text ends a text, a turn or a message in every family that has it.
void AddEndMarkers(TokenizerSpec* spec);

}  // namespace prenorm
