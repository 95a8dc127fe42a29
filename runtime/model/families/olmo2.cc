// OLMo 2: no norm before a branch but one behind it, and q and k normalized over all heads together.
// Team OLMo 2024.
#include "runtime/limits.h"
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {

Status BuildOlmo2(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  static constexpr NamePair kNames[] = {
      {"post_attention_norm", "post_attention_layernorm"},
      {"post_ffw_norm", "post_feedforward_layernorm"},
  };
  binder.UseHfNames({kNames});
  parts.block.qk_norm = QkNorm::kRows;
  parts.block.rope_pairs = RopePairs::kHalves;
  ReadDecoderConfig(reader, binder, parts);
  RotateAllLayers(reader, binder, parts);
  parts.block.gate = ReadGate(reader, Gate::kSilu);
  // GGUF files of OLMo 3 go by the name of OLMo 2, whose layers see everything.
  if (reader.Count("attention.sliding_window", kMaxContext) != 0) {
    reader.Fail(StatusCode::kUnsupported, "OLMo with sliding windows (OLMo 3) is not supported");
  }
  if (!reader.status().ok()) return reader.status();
  BindDecoder(parts, binder, {"", "", "post_attention_norm", "post_ffw_norm"});
  return binder.status();
}

}  // namespace prenorm
