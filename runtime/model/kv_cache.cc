// Reserves the cache; its pages become resident as positions are written.
#include "runtime/model/kv_cache.h"

#include <string>
#include <utility>

namespace prenorm {

Result<KvCache> KvCache::Create(const ModelConfig& config, DType type, size_t capacity) {
  KvCache cache;
  cache.type_ = type;
  cache.n_kv_heads_ = config.n_kv_heads;
  cache.head_dim_ = config.head_dim;
  cache.capacity_ = capacity;
  const size_t row_bytes = RowBytes(type, config.head_dim);
  // In double first: the sizes are bounded one by one, their product is not.
  const double rows = static_cast<double>(config.n_layers) * static_cast<double>(config.n_kv_heads);
  const double wanted =
      rows * static_cast<double>(KeyCapacity(capacity) + capacity) * static_cast<double>(row_bytes);
  const auto refuse = [&] {
    return Status(StatusCode::kOutOfMemory, "the key-value cache of " + std::to_string(capacity) + " tokens needs " +
                                                std::to_string(static_cast<unsigned long long>(wanted)) +
                                                " bytes, which cannot be allocated\nuse a smaller context");
  };
  if (wanted > 9e18) return refuse();
  const size_t heads = config.n_layers * config.n_kv_heads;
  Result<Buffer> keys = Buffer::Allocate(heads * KeyCapacity(capacity) * row_bytes, "keys");
  Result<Buffer> values = Buffer::Allocate(heads * capacity * row_bytes, "values");
  if (!keys.ok() || !values.ok()) return refuse();
  cache.keys_ = std::move(keys).value();
  cache.values_ = std::move(values).value();
  return cache;
}

KvHead KvCache::Head(size_t layer, size_t head) const {
  const size_t row_bytes = RowBytes(type_, head_dim_);
  const size_t index = layer * n_kv_heads_ + head;
  return {type_, head_dim_, keys_.as<unsigned char>() + index * KeyCapacity(capacity_) * row_bytes,
          values_.as<unsigned char>() + index * capacity_ * row_bytes};
}

}  // namespace prenorm
