// The attention stage of a step: rotary positions, the write into the cache, and who attends to what.
//
// A prompt is cut into tiles of tokens. One token's positions are cut into chunks instead, so that few heads keep many
// threads busy; partial results are merged in ascending order, which gives the bits of the whole.
#include <algorithm>
#include <cstring>

#include "prenorm/attention.h"
#include "prenorm/ops.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

void Rotate(const StepContext& context, float* heads, size_t count, size_t t) {
  ApplyRope(heads, context.config.head_dim, count, context.config.head_dim, context.config.rope_dim, context.cos(t),
            context.sin(t), context.block.rope_pairs);
}

void RotateAndStoreKey(const StepContext& context, size_t t, size_t head) {
  const size_t head_dim = context.config.head_dim;
  float* k = context.buffers.k + t * context.kv_dim() + head * head_dim;
  const float* v = context.buffers.v + t * context.kv_dim() + head * head_dim;
  Rotate(context, k, 1, t);
  StoreKv(context.cache.Head(context.layer_index, head), context.step.position + t, 1, k, v, head_dim);
}

AttentionArgs ArgsOf(const StepContext& context, size_t head) {
  AttentionArgs args{};
  args.cache = context.cache.Head(context.layer_index, head);
  args.scale = context.block.attention_scale;
  args.window = context.block.window;
  return args;
}

// All query heads of one key-value head for a tile of tokens, gathered into contiguous rows.
void AttendTile(StepContext& context, size_t head, size_t tile) {
  const size_t head_dim = context.config.head_dim, group = context.group();
  const size_t begin = tile * kAttentionTokens;
  const size_t count = std::min(kAttentionTokens, context.n - begin);
  const size_t row_floats = group * head_dim;
  for (size_t t = 0; t < count; ++t) {
    const float* q = context.buffers.q + (begin + t) * context.q_dim() + head * row_floats;
    std::memcpy(context.own.q + t * row_floats, q, row_floats * sizeof(float));
    std::fill_n(context.own.visible + t * group, group, context.step.position + begin + t + 1);
  }
  Attention(ArgsOf(context, head), context.own.q, head_dim, context.own.visible, count * group, context.own.out_tile,
            head_dim, context.own.attention);
  for (size_t t = 0; t < count; ++t) {
    float* out = context.buffers.attn + (begin + t) * context.q_dim() + head * row_floats;
    std::memcpy(out, context.own.out_tile + t * row_floats, row_floats * sizeof(float));
  }
}

// One token: this thread's share of (head, chunk) pairs, a barrier, and every thread merges all heads for itself.
class OneTokenAttention {
 public:
  explicit OneTokenAttention(StepContext& context)
      : context_(context), group_(context.group()), head_dim_(context.config.head_dim),
        end_(context.step.position + context.step.tokens.size()) {
    const size_t window = context.block.window;
    first_chunk_ = window == 0 || window >= end_ ? 0 : (end_ - window) / kAttentionChunk;
    n_chunks_ = (end_ + kAttentionChunk - 1) / kAttentionChunk - first_chunk_;
    mine_ = context.worker.Share(context.config.n_kv_heads * n_chunks_);
  }

  const float* Run() {
    context_.Time(OpKind::kRope, OpSite::kAttention, [&] { PrepareHeads(); });
    context_.Time(OpKind::kAttention, OpSite::kAttention, [&] { AttendChunks(); });
    context_.Wait(OpSite::kAttention);
    context_.Time(OpKind::kAttention, OpSite::kAttention, [&] { Merge(); });
    return context_.own.row;
  }

 private:
  float* Query(size_t head) const { return context_.own.q + head * group_ * head_dim_; }
  float* Partials(size_t head, size_t chunk) const {
    return context_.buffers.partials + (head * n_chunks_ + chunk) * group_ * AttentionPartialFloats(head_dim_);
  }

  // Queries of the heads in this thread's share; the key of a head goes into the cache where its last chunk is ours.
  void PrepareHeads() {
    const bool rotated = context_.step.tokens.size() > 1;  // By RotateAndStore, with the rest of the prompt.
    const size_t t = context_.first;
    for (size_t i = mine_.begin; i < mine_.end; ++i) {
      const size_t head = i / n_chunks_;
      if (i == mine_.begin || i % n_chunks_ == 0) {
        const float* q = context_.buffers.q + t * context_.q_dim() + head * group_ * head_dim_;
        std::memcpy(Query(head), q, group_ * head_dim_ * sizeof(float));
        if (!rotated) Rotate(context_, Query(head), group_, t);
      }
      if (!rotated && i % n_chunks_ == n_chunks_ - 1) RotateAndStoreKey(context_, t, head);
    }
    std::fill_n(context_.own.visible, group_, end_);
  }

  void AttendChunks() {
    for (size_t i = mine_.begin; i < mine_.end; ++i) {
      const size_t head = i / n_chunks_, chunk = i % n_chunks_;
      AttentionChunk(ArgsOf(context_, head), Query(head), head_dim_, context_.own.visible, group_, first_chunk_ + chunk,
                     Partials(head, chunk), context_.own.attention);
    }
  }

  void Merge() {
    for (size_t head = 0; head < context_.config.n_kv_heads; ++head) {
      AttentionMerge(Partials(head, 0), n_chunks_, group_, head_dim_, context_.own.row + head * group_ * head_dim_,
                     head_dim_);
    }
  }

  StepContext& context_;
  size_t group_;
  size_t head_dim_;
  size_t end_;          // Positions that the token sees end here.
  size_t first_chunk_;  // First chunk that it sees.
  size_t n_chunks_;     // Chunks that it sees.
  Range mine_;          // Of head * n_chunks_ + chunk.
};

}  // namespace

void RotateAndStore(StepContext& context) {
  if (context.n == 1) return;
  context.Time(OpKind::kRope, OpSite::kAttention, [&] {
    const Range tokens = context.worker.Share(context.n);
    for (size_t t = tokens.begin; t < tokens.end; ++t) {
      Rotate(context, context.buffers.q + t * context.q_dim(), context.config.n_heads, t);
      for (size_t head = 0; head < context.config.n_kv_heads; ++head) RotateAndStoreKey(context, t, head);
    }
  });
  context.Wait(OpSite::kAttention);
}

const float* Attend(StepContext& context) {
  if (context.n == 1) return OneTokenAttention(context).Run();
  context.Time(OpKind::kAttention, OpSite::kAttention, [&] {
    // A tile's cost grows with its position, so neighbours in the list go to different threads.
    const size_t heads = context.config.n_kv_heads;
    const size_t tiles = (context.n + kAttentionTokens - 1) / kAttentionTokens;
    const auto threads = static_cast<size_t>(context.worker.threads());
    for (auto i = static_cast<size_t>(context.worker.thread()); i < tiles * heads; i += threads) {
      AttendTile(context, i % heads, i / heads);
    }
  });
  context.Wait(OpSite::kAttention);
  return context.buffers.attn;
}

}  // namespace prenorm
