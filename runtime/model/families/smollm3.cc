// SmolLM3: Llama's block, but every fourth layer has no rotary positions (NoPE; Yang et al. 2025).
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildSmolLm3(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  binder.UseHfNames({});
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  if (reader.Flag("use_sliding_window", false)) ReadWindows(reader, parts, [](size_t) { return true; });
  parts.block.rope_pairs = reader.is_hf() ? RopePairs::kHalves : RopePairs::kNeighbours;
  parts.block.gate = ReadGate(reader, Gate::kSilu);
  // A 0 of the list means no positions, whatever its name says. GGUF files have no key for it.
  const std::vector<uint64_t> rotates = reader.Numbers("no_rope_layers");
  const size_t interval = reader.Size("no_rope_layer_interval", 1u << 12, 4);
  if (!rotates.empty() && rotates.size() != parts.config.n_layers) {
    reader.Fail(StatusCode::kBadModel, "key no_rope_layers: expected " + std::to_string(parts.config.n_layers) +
                                           " items, found " + std::to_string(rotates.size()));
  }
  if (!reader.status().ok()) return reader.status();
  for (size_t i = 0; i < parts.config.n_layers; ++i) {
    const bool rotated = rotates.empty() ? (i + 1) % interval != 0 : rotates[i] != 0;
    if (!rotated) parts.block.layers[i].rope = kNoRope;
  }
  BindDecoder(parts, binder);
  return binder.status();
}

}  // namespace prenorm
