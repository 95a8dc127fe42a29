// The other way round: a tokenizer of a Hugging Face folder in the keys of GGUF files.
#pragma once

#include <cstddef>
#include <string>

#include "prenorm/status.h"
#include "runtime/loader/metadata_builder.h"

namespace prenorm {

/// Adds tokenizer.ggml.* of the tokenizer in `folder`, with as many tokens as the embedding has rows: what has no text
/// is called [PAD<id>] and unused, as converters do. Byte-level BPE and SentencePiece's BPE can be said in these keys.
///
/// Pre-tokenizer  that of the known names which cuts a set of probing texts as the folder's does.
/// Check          the keys are read back, and must give the folder's ids for the probing texts.
/// Errors         kUnsupported for other kinds and for what no name or key can say; those of reading the folder.
Status AddTokenizerEntries(const std::string& folder, size_t rows, MetadataBuilder* entries);

}  // namespace prenorm
