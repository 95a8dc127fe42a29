// Lays all activations of a step into one allocation, each on a cache line of its own.
#include "runtime/model/step_buffers.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "prenorm/attention.h"
#include "prenorm/deferred_norm.h"
#include "prenorm/matmul_panels.h"

namespace prenorm {
namespace {

// Hands out offsets first; pointers follow when the total is known.
class Layout {
 public:
  template <typename T>
  void Add(T*& pointer, size_t bytes) {
    assignments_.push_back(
        [&pointer, offset = total_](uint8_t* base) { pointer = reinterpret_cast<T*>(base + offset); });
    total_ += (bytes + 63) / 64 * 64;
  }
  size_t total() const { return total_; }
  void Assign(uint8_t* base) const {
    for (const auto& assign : assignments_) assign(base);
  }

 private:
  std::vector<std::function<void(uint8_t*)>> assignments_;
  size_t total_ = 0;
};

}  // namespace

Result<StepBuffers> StepBuffers::Create(const ModelConfig& config, const BlockSpec& block, size_t chunk,
                                        size_t capacity, int threads, bool split_bf16) {
  const size_t q_dim = config.n_heads * config.head_dim;
  const size_t kv_dim = config.n_kv_heads * config.head_dim;
  size_t widest = std::max({config.dim, q_dim, config.ffn_dim, block.expert_ffn_dim, block.shared_ffn_dim});
  widest = (widest + 31) / 32 * 32;  // int8 packs want whole blocks
  const size_t group = config.n_heads / config.n_kv_heads;
  const size_t tile_rows = kAttentionTokens * group;
  const size_t position_chunks = (capacity + kAttentionChunk - 1) / kAttentionChunk;

  StepBuffers buffers;
  Layout shared;
  const auto floats = [&](float*& pointer, size_t cols) { shared.Add(pointer, chunk * cols * sizeof(float)); };
  floats(buffers.x, config.dim);
  const size_t squares_bytes = (config.dim + kSquaresBlock - 1) / kSquaresBlock * sizeof(double);
  shared.Add(buffers.squares, squares_bytes);
  floats(buffers.factors, 1);
  floats(buffers.normed, config.dim);
  floats(buffers.q, q_dim);
  floats(buffers.k, kv_dim);
  floats(buffers.v, kv_dim);
  floats(buffers.attn, q_dim);
  shared.Add(buffers.partials,
             position_chunks * config.n_heads * AttentionPartialFloats(config.head_dim) * sizeof(float));
  const size_t ffn_width =
      block.n_experts == 0
          ? config.ffn_dim
          : std::max({config.ffn_dim, block.n_experts_used * block.expert_ffn_dim, block.shared_ffn_dim});
  floats(buffers.gate, ffn_width);
  floats(buffers.up, ffn_width);
  floats(buffers.router, block.n_experts);
  floats(buffers.expert_weights, block.n_experts_used);
  shared.Add(buffers.expert_ids, chunk * block.n_experts_used * sizeof(uint32_t));
  floats(buffers.cos, block.ropes.size() * config.rope_dim / 2);
  floats(buffers.sin, block.ropes.size() * config.rope_dim / 2);
  shared.Add(buffers.tickets, config.n_layers * kTicketStages * sizeof(size_t));
  shared.Add(buffers.logits, config.vocab_size * sizeof(float));
  shared.Add(buffers.pack.f32, ActivationBytes(ActivationFormat::kF32, widest, chunk));
  shared.Add(buffers.pack.int8, ActivationBytes(ActivationFormat::kInt8, widest, chunk));

  if (split_bf16) shared.Add(buffers.pack.split, 2 * widest * chunk * sizeof(bf16));

  Layout own;
  Private& first = buffers.first_private;
  const size_t own_tokens = block.n_experts == 0 ? 1 : kExpertTokens;
  own.Add(first.pack.f32, ActivationBytes(ActivationFormat::kF32, widest, own_tokens));
  own.Add(first.pack.int8, ActivationBytes(ActivationFormat::kInt8, widest, own_tokens));
  own.Add(first.expert_rows, block.n_experts == 0 ? 0 : kExpertTokens * config.dim * sizeof(float));
  own.Add(first.squares, squares_bytes);
  own.Add(first.row, std::max(config.dim, q_dim) * sizeof(float));
  own.Add(first.q, std::max(tile_rows, config.n_heads) * config.head_dim * sizeof(float));
  own.Add(first.out_tile, tile_rows * config.head_dim * sizeof(float));
  own.Add(first.visible, tile_rows * sizeof(size_t));
  // Tiles have so many rows that the type does not matter; one token has fewer, for which int8 needs as much.
  own.Add(first.attention, AttentionScratchBytes(tile_rows, config.head_dim, DType::kQ8_0));
  own.Add(first.matmul, MatMulScratchBytes(widest));
  buffers.private_bytes = own.total();

  Result<Buffer> memory =
      Buffer::Allocate(shared.total() + own.total() * static_cast<size_t>(threads), "activations of a step");
  if (!memory.ok()) return memory.status();
  buffers.memory = std::move(memory).value();
  auto* base = buffers.memory.as<uint8_t>();
  shared.Assign(base);
  own.Assign(base + shared.total());
  return buffers;
}

StepBuffers::Private StepBuffers::OfThread(int thread) const {
  const size_t offset = static_cast<size_t>(thread) * private_bytes;
  const auto moved = [&](auto* pointer) {
    return reinterpret_cast<decltype(pointer)>(reinterpret_cast<uint8_t*>(pointer) + offset);
  };
  const Private& first = first_private;
  return {{moved(first.pack.f32), moved(first.pack.int8), /*split=*/nullptr},
          moved(first.expert_rows),
          moved(first.squares),
          moved(first.row),
          moved(first.q),
          moved(first.out_tile),
          moved(first.visible),
          moved(first.attention),
          moved(first.matmul)};
}

}  // namespace prenorm
