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

// Norm of `count` heads, the first of which is head `first` of its kind.
void NormalizeHeads(const StepContext& context, const NormWeights& norm, float* heads, size_t first, size_t count) {
  const size_t head_dim = context.config.head_dim;
  if (norm.gain.size() == head_dim) return Normalize(context, OpSite::kQkNorm, norm, heads, heads, count, head_dim);
  for (size_t i = 0; i < count; ++i) {
    const float* gain = norm.gain.data() + (first + i) * head_dim;
    Normalize(context, OpSite::kQkNorm, gain, /*bias=*/nullptr, heads + i * head_dim, heads + i * head_dim, 1,
              head_dim);
  }
}

void Rotate(const StepContext& context, float* heads, size_t count, size_t t) {
  const size_t rope = context.layer().rope, head_dim = context.config.head_dim;
  if (rope == kNoRope) return;
  ApplyRope(heads, head_dim, count, head_dim, context.config.rope_dim, context.cos(rope, t), context.sin(rope, t),
            context.block.rope_pairs);
}

float* Key(const StepContext& context, size_t t, size_t head) {
  return context.buffers.k + t * context.kv_dim() + head * context.config.head_dim;
}

void RotateAndStoreKey(const StepContext& context, size_t t, size_t head) {
  const size_t head_dim = context.config.head_dim;
  float* k = Key(context, t, head);
  const float* v = context.buffers.v + t * context.kv_dim() + head * head_dim;
  Rotate(context, k, 1, t);
  StoreKv(context.cache.Head(context.layer_index, head), context.step.position + t, 1, k, v, head_dim);
}

AttentionArgs ArgsOf(const StepContext& context, size_t cache_layer, size_t head) {
  AttentionArgs args{};
  args.cache = context.cache.Head(cache_layer, head);
  args.scale = context.block.attention_scale;
  args.soft_cap = context.block.attention_soft_cap;
  args.window = context.layer().window;
  return args;
}

// All query heads of one key-value head for `count` tokens, whose ends are in own.visible. Several are gathered into
// contiguous rows.
void AttendTile(StepContext& context, const AttentionArgs& args, size_t head, size_t first, size_t count) {
  const size_t head_dim = context.config.head_dim, group = context.group();
  const size_t row_floats = group * head_dim, stride = context.q_dim();
  const float* q = context.buffers.q + first * stride + head * row_floats;
  float* out = context.buffers.attn + first * stride + head * row_floats;
  if (group == 1) {
    return Attention(args, q, stride, context.own.visible, count, out, stride, context.own.attention);
  }
  for (size_t t = 0; t < count; ++t) {
    std::memcpy(context.own.q + t * row_floats, q + t * stride, row_floats * sizeof(float));
  }
  Attention(args, context.own.q, head_dim, context.own.visible, count * group, context.own.out_tile, head_dim,
            context.own.attention);
  for (size_t t = 0; t < count; ++t) {
    std::memcpy(out + t * stride, context.own.out_tile + t * row_floats, row_floats * sizeof(float));
  }
}

// The cache from `place` on, a multiple of kKeyBlock: a sequence of its own.
KvHead At(KvHead cache, size_t place) {
  const size_t bytes = RowBytes(cache.type, cache.head_dim) * place;
  cache.keys = static_cast<uint8_t*>(cache.keys) + bytes;
  cache.values = static_cast<uint8_t*>(cache.values) + bytes;
  return cache;
}

// One token: this thread's share of (head, chunk) pairs, a barrier, and every thread merges all heads for itself.
class OneTokenAttention {
 public:
  OneTokenAttention(StepContext& context, const LayerWeights& layer)
      : context_(context),
        layer_(layer),
        group_(context.group()),
        head_dim_(context.config.head_dim),
        end_(context.step.position + context.step.tokens.size()) {
    const size_t window = context.layer().window;
    first_chunk_ = window == 0 || window >= end_ ? 0 : (end_ - window) / kAttentionChunk;
    n_chunks_ = (end_ + kAttentionChunk - 1) / kAttentionChunk - first_chunk_;
    mine_ = context.worker.Share(context.config.n_kv_heads * n_chunks_);
  }

  const float* Run() {
    // A prompt's queries and keys are ready: RotateAndStore has prepared them with all others.
    const bool prepared = context_.step.tokens.size() > 1;
    const bool has_norm = !prepared && context_.block.qk_norm == QkNorm::kHeads;
    if (has_norm) {
      context_.Time(OpKind::kNorm, OpSite::kQkNorm, [&] {
        GatherQueries();
        NormalizeOwnHeads();
      });
    }
    context_.Time(OpKind::kRope, OpSite::kAttention, [&] {
      if (!has_norm) GatherQueries();
      if (!prepared) RotateOwnHeads();
    });
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

  // Calls query(head) for the heads in this thread's share, and key(head) where a head's last chunk is this thread's.
  template <typename Query, typename Key>
  void ForEachOwnHead(const Query& query, const Key& key) {
    for (size_t i = mine_.begin; i < mine_.end; ++i) {
      if (i == mine_.begin || i % n_chunks_ == 0) query(i / n_chunks_);
      if (i % n_chunks_ == n_chunks_ - 1) key(i / n_chunks_);
    }
  }

  void GatherQueries() {
    const float* q = context_.buffers.q + context_.first * context_.q_dim();
    ForEachOwnHead(
        [&](size_t head) {
          std::memcpy(Query(head), q + head * group_ * head_dim_, group_ * head_dim_ * sizeof(float));
        },
        [](size_t) {});
    std::fill_n(context_.own.visible, group_, end_);
  }

  void NormalizeOwnHeads() {
    ForEachOwnHead(
        [&](size_t head) { NormalizeHeads(context_, layer_.q_norm, Query(head), head * group_, group_); },
        [&](size_t head) { NormalizeHeads(context_, layer_.k_norm, Key(context_, context_.first, head), head, 1); });
  }

  void RotateOwnHeads() {
    ForEachOwnHead([&](size_t head) { Rotate(context_, Query(head), group_, context_.first); },
                   [&](size_t head) { RotateAndStoreKey(context_, context_.first, head); });
  }

  void AttendChunks() {
    for (size_t i = mine_.begin; i < mine_.end; ++i) {
      const size_t head = i / n_chunks_, chunk = i % n_chunks_;
      AttentionChunk(ArgsOf(context_, context_.layer_index, head), Query(head), head_dim_, context_.own.visible, group_,
                     first_chunk_ + chunk, Partials(head, chunk), context_.own.attention);
    }
  }

  void Merge() {
    for (size_t head = 0; head < context_.config.n_kv_heads; ++head) {
      AttentionMerge(Partials(head, 0), n_chunks_, group_, head_dim_, context_.own.row + head * group_ * head_dim_,
                     head_dim_);
    }
  }

  StepContext& context_;
  const LayerWeights& layer_;
  size_t group_;
  size_t head_dim_;
  size_t end_;          // Positions that the token sees end here.
  size_t first_chunk_;  // First chunk that it sees.
  size_t n_chunks_;     // Chunks that it sees.
  Range mine_;          // Of head * n_chunks_ + chunk.
};

}  // namespace

void NormalizeQkRows(StepContext& context, const LayerWeights& layer) {
  context.Time(OpKind::kNorm, OpSite::kQkNorm, [&] {
    const size_t q_dim = context.q_dim(), kv_dim = context.kv_dim();
    const Range rows = context.worker.Share(2 * context.n);  // Query and key of each token.
    for (size_t i = rows.begin; i < rows.end; ++i) {
      float* q = context.buffers.q + i / 2 * q_dim;
      float* k = context.buffers.k + i / 2 * kv_dim;
      if (i % 2 == 0)
        Normalize(context, OpSite::kQkNorm, layer.q_norm, q, q, 1, q_dim);
      else
        Normalize(context, OpSite::kQkNorm, layer.k_norm, k, k, 1, kv_dim);
    }
  });
  context.Wait(OpSite::kQkNorm);
}

void RotateAndStore(StepContext& context, const LayerWeights& layer) {
  if (context.n == 1) return;
  const Range tokens = context.worker.Share(context.n);
  const size_t n_heads = context.config.n_heads, n_kv_heads = context.config.n_kv_heads;
  if (context.block.qk_norm == QkNorm::kHeads) {
    context.Time(OpKind::kNorm, OpSite::kQkNorm, [&] {
      for (size_t t = tokens.begin; t < tokens.end; ++t) {
        NormalizeHeads(context, layer.q_norm, context.buffers.q + t * context.q_dim(), 0, n_heads);
        NormalizeHeads(context, layer.k_norm, Key(context, t, 0), 0, n_kv_heads);
      }
    });
  }
  context.Time(OpKind::kRope, OpSite::kAttention, [&] {
    for (size_t t = tokens.begin; t < tokens.end; ++t) {
      Rotate(context, context.buffers.q + t * context.q_dim(), n_heads, t);
      for (size_t head = 0; head < n_kv_heads; ++head) RotateAndStoreKey(context, t, head);
    }
  });
  context.Wait(OpSite::kAttention);
}

const float* Attend(StepContext& context, const LayerWeights& layer) {
  if (context.n == 1) return OneTokenAttention(context, layer).Run();
  context.Time(OpKind::kAttention, OpSite::kAttention, [&] {
    // A tile's cost grows with its position, so neighbours in the list go to different threads.
    const size_t heads = context.config.n_kv_heads;
    const size_t tiles = (context.n + kAttentionTokens - 1) / kAttentionTokens;
    const auto threads = static_cast<size_t>(context.worker.threads());
    for (auto i = static_cast<size_t>(context.worker.thread()); i < tiles * heads; i += threads) {
      const size_t first = i / heads * kAttentionTokens;
      const size_t count = std::min(kAttentionTokens, context.n - first);
      for (size_t t = 0; t < count; ++t) {
        std::fill_n(context.own.visible + t * context.group(), context.group(), context.step.position + first + t + 1);
      }
      AttendTile(context, ArgsOf(context, context.layer_index, i % heads), i % heads, first, count);
    }
  });
  context.Wait(OpSite::kAttention);
  return context.buffers.attn;
}

// A batch. Each tile's own thread prepares its keys and values: rows of all heads stand beside each other in k and v.
void RotateAndStoreBatch(StepContext& context, const LayerWeights& layer) {
  const size_t n_heads = context.config.n_heads, n_kv_heads = context.config.n_kv_heads;
  const size_t kv_dim = context.kv_dim(), head_dim = context.config.head_dim;
  const Range mine = context.worker.Share(context.step.batch.size());
  const std::span<const SequenceTile> tiles = context.step.batch.subspan(mine.begin, mine.size());
  const auto for_each_token = [&](const auto& work) {
    for (const SequenceTile& tile : tiles) {
      for (size_t t = tile.first; t < tile.first + tile.count; ++t) work(t);
    }
  };
  if (context.block.qk_norm == QkNorm::kHeads) {
    context.Time(OpKind::kNorm, OpSite::kQkNorm, [&] {
      for_each_token([&](size_t t) {
        NormalizeHeads(context, layer.q_norm, context.buffers.q + t * context.q_dim(), 0, n_heads);
        NormalizeHeads(context, layer.k_norm, Key(context, t, 0), 0, n_kv_heads);
      });
    });
  }
  context.Time(OpKind::kRope, OpSite::kAttention, [&] {
    for_each_token([&](size_t t) {
      Rotate(context, context.buffers.q + t * context.q_dim(), n_heads, t);
      Rotate(context, Key(context, t, 0), n_kv_heads, t);
    });
    for (const SequenceTile& tile : tiles) {
      for (size_t head = 0; head < n_kv_heads; ++head) {
        const size_t from = tile.first * kv_dim + head * head_dim;
        StoreKv(context.cache.Head(0, head), tile.place + tile.position, tile.count, context.buffers.k + from,
                context.buffers.v + from, kv_dim);
      }
    }
  });
  context.Wait(OpSite::kAttention);
}

void AttendBatch(StepContext& context) {
  context.Time(OpKind::kAttention, OpSite::kAttention, [&] {
    context.TakeTurns(context.step.batch.size(), [&](size_t i) {
      const SequenceTile& tile = context.step.batch[i];
      for (size_t t = 0; t < tile.count; ++t) {
        const size_t end = context.block.bidirectional ? tile.length : tile.position + t + 1;
        std::fill_n(context.own.visible + t * context.group(), context.group(), end);
      }
      for (size_t head = 0; head < context.config.n_kv_heads; ++head) {
        AttentionArgs args = ArgsOf(context, 0, head);
        args.cache = At(args.cache, tile.place);
        AttendTile(context, args, head, tile.first, tile.count);
      }
    });
  });
  context.Wait(OpSite::kAttention);
}

}  // namespace prenorm
