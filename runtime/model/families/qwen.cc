// Qwen 2, 2.5 and 3: pre-RMSNorm, SwiGLU, rotary halves; biases of q, k, v (2), norms of the heads of q and k (3),
// a mixture of experts (2 and 3 MoE), with a shared one (2 MoE). Yang et al. 2024, 2025.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {
namespace {

Status BuildQwen(ModelParts& parts, Binder& binder, ConfigReader& reader, QkNorm qk_norm) {
  BlockSpec& block = parts.block;
  block.qk_norm = qk_norm;
  block.rope_pairs = RopePairs::kHalves;
  binder.UseHfNames({});
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  // config.json names a window even where it is switched off; GGUF files of these models have none.
  if (reader.Flag("use_sliding_window", false)) {
    const size_t full = reader.Has("max_window_layers") ? reader.Size("max_window_layers", 1u << 20) : 0;
    ReadWindows(reader, parts, [full](size_t i) { return i >= full; });
  }
  block.gate = ReadGate(reader, Gate::kSilu);
  return reader.status();
}

Status BuildMixture(ModelParts& parts, Binder& binder, ConfigReader& reader, bool shared, bool normalizes) {
  ReadExperts(reader, parts);
  BlockSpec& block = parts.block;
  if (!shared)
    block.shared_ffn_dim = 0;
  else if (block.shared_ffn_dim == 0)
    block.shared_ffn_dim = parts.config.ffn_dim;
  // config.json has it wherever it is so; GGUF files leave it to the architecture.
  block.normalize_expert_weights = reader.Flag("expert_weights_norm", !reader.is_hf() && normalizes);
  if (!reader.Numbers("mlp_only_layers").empty() || reader.Size("decoder_sparse_step", 1u << 12, 1) != 1) {
    reader.Fail(StatusCode::kUnsupported, "mixtures of experts in some layers only are not supported");
  }
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder);
  return binder.status();
}

}  // namespace

Status BuildQwen2(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (Status status = BuildQwen(parts, binder, reader, QkNorm::kNone); !status.ok()) return status;
  BindDecoder(parts, binder);
  return binder.status();
}

Status BuildQwen3(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (Status status = BuildQwen(parts, binder, reader, QkNorm::kHeads); !status.ok()) return status;
  BindDecoder(parts, binder);
  return binder.status();
}

Status BuildQwen2Moe(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (Status status = BuildQwen(parts, binder, reader, QkNorm::kNone); !status.ok()) return status;
  return BuildMixture(parts, binder, reader, /*shared=*/true, /*normalizes=*/false);
}

Status BuildQwen3Moe(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  if (Status status = BuildQwen(parts, binder, reader, QkNorm::kHeads); !status.ok()) return status;
  return BuildMixture(parts, binder, reader, /*shared=*/false, /*normalizes=*/true);
}

}  // namespace prenorm
