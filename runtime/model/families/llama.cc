// Llama and what shares its architecture name: Llama 1 to 3, Mistral, Mixtral, SmolLM2. Pre-RMSNorm, SwiGLU, rotary
// pairs of neighbours in GGUF files, whose converters re-order the rows of wq and wk for it. Touvron et al. 2023; the
// mixture: Jiang et al. 2024.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildLlama(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  static constexpr NamePair kMixtral[] = {
      {"ffn_gate_inp", "block_sparse_moe.gate"},
      {"ffn_gate_exps", "block_sparse_moe.experts.#.w1"},
      {"ffn_up_exps", "block_sparse_moe.experts.#.w3"},
      {"ffn_down_exps", "block_sparse_moe.experts.#.w2"},
  };
  binder.UseHfNames({kMixtral});
  ReadDecoderConfig(reader, binder, parts);
  ReadExperts(reader, parts);
  RotateAllLayers(reader, binder, parts);
  ReadWindows(reader, parts, [](size_t) { return true; });
  parts.block.rope_pairs = reader.is_hf() ? RopePairs::kHalves : RopePairs::kNeighbours;
  parts.block.gate = ReadGate(reader, Gate::kSilu);
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder);
  return binder.status();
}

}  // namespace prenorm
