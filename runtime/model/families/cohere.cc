// Command R and Command R7B of Cohere: one LayerNorm without bias before two parallel branches, rotary neighbours in
// files of both kinds, scaled logits. Command R+ normalizes the heads of q and k; Command R7B has local layers with
// rotary positions and global ones without any.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {
namespace {

void ReadCohere(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  BlockSpec& block = parts.block;
  binder.UseHfNames({});
  block.norm = NormKind::kLayer;
  block.parallel = true;
  block.rope_pairs = RopePairs::kNeighbours;
  if (binder.Has("blk.0.attn_q_norm.weight")) block.qk_norm = QkNorm::kHeads;
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  block.logit_scale = reader.Number("logit_scale", /*positive=*/true);
  block.gate = ReadGate(reader, Gate::kSilu);
}

Status BindCohere(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder, {.ffn_norm = ""});
  return binder.status();
}

}  // namespace

Status BuildCohere(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  ReadCohere(parts, binder, reader);
  return BindCohere(parts, binder, reader);
}

Status BuildCohere2(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  ReadCohere(parts, binder, reader);
  const size_t pattern = ReadWindowPattern(reader, 4);
  if (!reader.status().ok()) return reader.status();
  const std::vector<bool> local = ReadWindows(reader, parts, [&](size_t i) { return (i + 1) % pattern != 0; });
  for (size_t i = 0; i < local.size(); ++i) {
    if (!local[i]) parts.block.layers[i].rope = kNoRope;
  }
  return BindCohere(parts, binder, reader);
}

}  // namespace prenorm
