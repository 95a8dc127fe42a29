// Phi-3 and 3.5: Llama's block with q, k, v in one matrix and gate and up in another. Abdin et al. 2024.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildPhi3(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  static constexpr NamePair kFused[] = {{"ffn_up", "mlp.gate_up_proj"}};
  binder.UseHfNames({kFused});
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  ReadWindows(reader, parts, [](size_t) { return true; });
  parts.block.rope_pairs = RopePairs::kHalves;
  parts.block.gate = ReadGate(reader, Gate::kSilu);
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder);
  return binder.status();
}

}  // namespace prenorm
