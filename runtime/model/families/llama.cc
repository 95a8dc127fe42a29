// Llama and what shares its architecture name: Llama 1 to 3, Mistral, SmolLM2. Pre-RMSNorm, rotary pairs of
// neighbours (converters re-order the rows of wq and wk for it), SwiGLU. Touvron et al. 2023.
#include <cmath>

#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildLlama(ModelParts& parts, Binder& binder) {
  ModelConfig& config = parts.config;
  ConfigReader reader(*parts.source, "llama.");
  ReadDecoderConfig(reader, *parts.source, config);
  if (reader.Has("expert_count")) {
    reader.Fail(StatusCode::kUnsupported, "mixtures of experts (key llama.expert_count) are not supported");
  }
  ReadRope(reader, config, binder, parts.block);
  if (reader.Has("attention.sliding_window")) {
    parts.block.window = reader.Size("attention.sliding_window", config.max_seq_len);
  }
  if (!reader.status().ok()) return reader.status();

  parts.block.rope_pairs = RopePairs::kNeighbours;
  parts.block.gate = Gate::kSilu;
  parts.block.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  BindDecoder(config, binder, parts.weights);
  return binder.status();
}

}  // namespace prenorm
