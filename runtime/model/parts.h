// Everything that a Model owns.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/model.h"
#include "prenorm/target.h"
#include "prenorm/tokenizer.h"
#include "runtime/loader/mapped_file.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/weights.h"
#include "runtime/parallel/buffer.h"

namespace prenorm {

/// How the rows of a text become its embedding, as the model's files say.
struct EmbeddingSpec {
  Pooling pooling = Pooling::kMean;
  bool normalize = true;    // To length 1
  size_t max_tokens = 0;    // Of a text; 0: as many as there are positions
  std::string unsupported;  // What the files ask for besides that does not exist here; empty: nothing
};

struct ModelParts {
  ModelConfig config;
  BlockSpec block;
  std::string_view target = ActiveTarget();  // That the weights are interleaved for.
  ModelWeights weights;
  std::unique_ptr<TensorSource> source;           // Owns the bytes that the weights point to.
  std::deque<std::vector<uint8_t>> made_weights;  // Likewise those that had to be made.
  Buffer panels;                                  // What Linear::panels point into.
  MappedFile prepared;                            // Matrices that were prepared (prepared.h).
  std::string prepared_path;                      // Of that file; empty: none.
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<ChatTemplate> chat_templates;
  EmbeddingSpec embedding;
  size_t weight_bytes = 0;
  size_t decode_bytes = 0;
  std::string quantization;
  std::vector<std::string> warnings;
};

}  // namespace prenorm
