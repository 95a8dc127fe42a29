// Granite 3: Llama's block with factors for embeddings, scores, branches and logits. Granite Team 2024.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildGranite(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  BlockSpec& block = parts.block;
  binder.UseHfNames({});
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  block.rope_pairs = reader.is_hf() ? RopePairs::kHalves : RopePairs::kNeighbours;
  block.gate = ReadGate(reader, Gate::kSilu);
  block.embedding_scale = reader.Number("embedding_scale", /*positive=*/true, 1.0f);
  block.residual_scale = reader.Number("residual_scale", /*positive=*/true, 1.0f);
  block.attention_scale = reader.Number("attention.scale", /*positive=*/true, block.attention_scale);
  block.logit_scale =
      1.0f / reader.Number("logit_scale", /*positive=*/true, 1.0f);  // Both kinds of files hold a divisor.
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder);
  return binder.status();
}

}  // namespace prenorm
