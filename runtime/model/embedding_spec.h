// How a model's files want texts to become vectors.
#pragma once

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// GGUF: A.pooling_type. Folders: modules.json, the config.json of its pooling module, sentence_bert_config.json.
/// `bidirectional`: of the model, which says what holds where the files are silent.
/// Errors: kBadModel for JSON that is none. What is not supported is kept in the result: only embeddings need it.
Result<EmbeddingSpec> ReadEmbeddingSpec(const TensorSource& source, bool bidirectional);

}  // namespace prenorm
