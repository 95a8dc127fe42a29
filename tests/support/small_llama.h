// A Llama of three tokens and of one's own sizes as the bytes of a GGUF file, its weights all alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace prenorm {

struct SmallLlama {
  uint32_t layers = 1, heads = 2, head_dim = 16, context = 64;
  uint64_t embedding_rows = 3;
  float back = 1.0f;  ///< Of the matrices that lead back to the residual stream; all others hold ones.
  DType embedding_type = DType::kF32;
  std::vector<uint8_t> embedding = {};  ///< [3, kDim] of that type, or none for ones.
  std::string extra_tensor = {};        ///< Name of one that no layer uses; empty: none.

  static constexpr uint32_t kDim = 32;

  std::vector<uint8_t> Build() const {
    GgufWriter writer;
    writer.String("general.architecture", "llama")
        .String("tokenizer.ggml.model", "gpt2")
        .String("tokenizer.ggml.pre", "smollm")
        .Strings("tokenizer.ggml.tokens", {"a", "b", "c"})
        .Numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1})
        .Strings("tokenizer.ggml.merges", {})
        .U32("llama.embedding_length", kDim)
        .U32("llama.feed_forward_length", kDim)
        .U32("llama.block_count", layers)
        .U32("llama.context_length", context)
        .U32("llama.attention.head_count", heads)
        .U32("llama.attention.head_count_kv", heads)
        .U32("llama.attention.key_length", head_dim)
        .U32("llama.attention.value_length", head_dim)
        .F32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    const auto fill = [&](const std::string& name, std::vector<uint64_t> dims, float value = 1.0f) {
      size_t count = 1;
      for (const uint64_t dim : dims) count *= dim;
      writer.RawF32(name, dims, std::vector<float>(count, value));
    };
    if (embedding.empty()) {
      fill("token_embd.weight", {kDim, embedding_rows});
    } else {
      writer.Tensor("token_embd.weight", embedding_type, {kDim, 3}, embedding);
    }
    fill("output_norm.weight", {kDim});
    fill("output.weight", {kDim, embedding_rows});
    for (uint32_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) fill(block + norm, {kDim});
      for (const char* in : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
        fill(block + in, {kDim, uint64_t{heads} * head_dim});
      }
      fill(block + "attn_output.weight", {uint64_t{heads} * head_dim, kDim}, back);
      for (const char* in : {"ffn_gate.weight", "ffn_up.weight"}) fill(block + in, {kDim, kDim});
      fill(block + "ffn_down.weight", {kDim, kDim}, back);
    }
    if (!extra_tensor.empty()) fill(extra_tensor, {1});
    return writer.Build();
  }
};

/// Whose cache of 16-bit elements for its context takes 2^37 bytes.
inline SmallLlama LlamaWithALargeCache() { return {.layers = 32, .heads = 8, .head_dim = 128, .context = 1048576}; }

/// Embeddings of one, the least subnormal number of the type and its negative: the layers add nothing, the output's weights
/// are ones. All logits behind a token with embedding x are 32 x / sqrt(x^2 + 1e-5).
inline SmallLlama SubnormalLlama(DType type) {
  const uint16_t one = type == DType::kF16 ? 0x3C00 : 0x3F80, least = 0x0001, minus = 0x8001;
  std::vector<uint8_t> bytes;
  for (const uint16_t value : {one, least, minus}) {
    for (uint32_t i = 0; i < SmallLlama::kDim; ++i) {
      bytes.push_back(static_cast<uint8_t>(value & 255));
      bytes.push_back(static_cast<uint8_t>(value >> 8));
    }
  }
  return {.back = 0.0f, .embedding_type = type, .embedding = bytes};
}

/// The logits behind each token of SubnormalLlama.
inline std::vector<double> SubnormalLogits(DType type) {
  const double least = type == DType::kF16 ? 0x1p-24 : 0x1p-133, size = SmallLlama::kDim;
  // sqrt(1e-5 + 1) and, beside 1e-5 as f32, nothing that could be seen.
  return {size / 1.0000049999875, size * least / 3.16227766e-3, -size * least / 3.16227766e-3};
}

}  // namespace prenorm
