// Everything that a Model owns.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/tokenizer.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/weights.h"

namespace prenorm {

struct ModelParts {
  ModelConfig config;
  BlockSpec block;
  ModelWeights weights;
  std::unique_ptr<TensorSource> source;  // Owns the bytes that the weights point to.
  std::deque<std::vector<uint8_t>> made_weights;  // Likewise those that had to be made.
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<ChatTemplate> chat_templates;
  size_t weight_bytes = 0;
  size_t decode_bytes = 0;
  std::string quantization;
  std::vector<std::string> warnings;
};

}  // namespace prenorm
