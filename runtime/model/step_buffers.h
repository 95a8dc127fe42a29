// Activations of one forward step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/matmul.h"
#include "prenorm/model.h"
#include "prenorm/status.h"
#include "runtime/model/weights.h"
#include "runtime/parallel/buffer.h"

namespace prenorm {

/// Prompt tokens whose attention one thread computes together.
inline constexpr size_t kAttentionTokens = 16;

/// Tokens that one thread multiplies with one expert of a mixture together.
inline constexpr size_t kExpertTokens = 16;

/// Stages of a layer whose work a batch's threads take piece by piece.
inline constexpr size_t kTicketStages = 5;

/// Work space for up to `chunk` tokens. All f32 unless said otherwise.
struct StepBuffers {
  /// `split_bf16`: BF16 matrices may be multiplied by oneDNN. `capacity`: positions of the cache, which bound the
  /// partial results of one token's attention.
  static Result<StepBuffers> Create(const ModelConfig& config, const BlockSpec& block, size_t chunk, size_t capacity,
                                    int threads, bool split_bf16);

  /// Inputs of products: one region a format, because matrices of one stage may want different ones.
  struct Pack {
    void* f32;
    void* int8;
    bf16* split = nullptr;  // Planes of SplitBf16, [2, n, cols]; null: BF16 matrices take f32
    void* of(ActivationFormat format) const { return format == ActivationFormat::kF32 ? f32 : int8; }
  };
  /// The same for those who only read it.
  struct Packed {
    // NOLINTNEXTLINE(google-explicit-constructor)
    Packed(const Pack& pack) : f32(pack.f32), int8(pack.int8), split(pack.split) {}
    const void* of(ActivationFormat format) const { return format == ActivationFormat::kF32 ? f32 : int8; }
    const void* f32;
    const void* int8;
    const bf16* split;
  };
  /// What a thread needs for itself.
  struct Private {
    Pack pack;           // one token, of a mixture kExpertTokens
    float* expert_rows;  // [kExpertTokens, dim], of a mixture only
    double* squares;     // [ceil(dim / kSquaresBlock)], of a prompt's row
    float* row;          // [max(dim, n_heads * head_dim)], a normalized row or one token's attention
    float* q;            // [kAttentionTokens, group, head_dim] of a tile, or [n_heads, head_dim] of one token
    float* out_tile;     // [kAttentionTokens, group, head_dim]
    size_t* visible;     // [kAttentionTokens, group], end of the positions that a query row sees
    void* attention;     // AttentionScratchBytes
    void* matmul;        // MatMulScratchBytes
  };

  float* x = nullptr;         // [chunk, dim], the residual stream
  double* squares = nullptr;  // [ceil(dim / kSquaresBlock)], SumSquares of one token's x, for a deferred norm
  float* factors = nullptr;   // [chunk], 1 / rms of each row of x, likewise
  float* normed = nullptr;    // [chunk, dim]
  float* q = nullptr;         // [chunk, n_heads * head_dim]
  float* k = nullptr;         // [chunk, n_kv_heads * head_dim]
  float* v = nullptr;         // [chunk, n_kv_heads * head_dim]
  float* attn = nullptr;      // [chunk, n_heads * head_dim]
  float* partials = nullptr;  // [n_kv_heads, chunks of positions, group, AttentionPartialFloats], one token's attention
  float* gate = nullptr;      // [chunk, ffn_dim], of a mixture [chunk, n_experts_used, expert_ffn_dim]
  float* up = nullptr;        // likewise
  float* router = nullptr;    // [chunk, n_experts]
  float* expert_weights = nullptr;  // [chunk, n_experts_used], of the chosen experts
  uint32_t* expert_ids = nullptr;   // [chunk, n_experts_used], ascending
  float* cos = nullptr;             // [tables of rotary frequencies, chunk, rope_dim / 2]
  float* sin = nullptr;             // likewise
  float* logits = nullptr;          // [vocab_size]
  size_t* tickets = nullptr;        // [n_layers, kTicketStages], pieces of a batch's stages that were handed out
  Pack pack{};                      // chunk tokens
  Private OfThread(int thread) const;
  size_t bytes() const { return memory.bytes(); }

  Buffer memory;
  Private first_private{};   // Of thread 0; the others follow.
  size_t private_bytes = 0;  // From one thread's to the next.
};

}  // namespace prenorm
