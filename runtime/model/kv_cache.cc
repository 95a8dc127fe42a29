// Reserves the cache; its pages become resident as positions are written.
#include "runtime/model/kv_cache.h"

#include <cstring>
#include <string>
#include <utility>

namespace prenorm {

Result<KvCache> KvCache::Create(const ModelConfig& config, DType type, size_t capacity) {
  KvCache cache;
  cache.type_ = type;
  cache.n_layers_ = config.n_layers;
  cache.n_kv_heads_ = config.n_kv_heads;
  cache.head_dim_ = config.head_dim;
  cache.capacity_ = capacity;
  const size_t row_bytes = RowBytes(type, config.head_dim);
  // In double first: the sizes are bounded one by one, their product is not.
  const double rows = static_cast<double>(config.n_layers) * static_cast<double>(config.n_kv_heads);
  const double wanted = rows * static_cast<double>(KeyCapacity(capacity) + capacity) * static_cast<double>(row_bytes);
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

size_t KvCache::PrefixBytes(size_t positions) const {
  return n_heads() * (KeyCapacity(positions) + positions) * RowBytes(type_, head_dim_);
}

namespace {

// Zeroes what a key block holds for positions from `used` on, so that equal prefixes are equal bytes.
void ClearUnused(DType type, size_t head_dim, size_t used, uint8_t* block) {
  const size_t unused = kKeyBlock - used;
  if (type != DType::kQ8_0) {
    const size_t element = InfoOf(type).block_bytes;
    for (size_t d = 0; d < head_dim; ++d) std::memset(block + (d * kKeyBlock + used) * element, 0, unused * element);
    return;
  }
  for (size_t d = 0; d < head_dim; ++d) {
    uint8_t* code = block + Int8KeyIndex(used, d, head_dim);
    if (d % 32 == 0)
      std::memset(code - used - 2 * kKeyBlock + 2 * used, 0, 2 * unused);  // The scales before the codes.
    std::memset(code, 0, unused);
  }
}

}  // namespace

void KvCache::ReadPrefix(size_t positions, uint8_t* to) const {
  const size_t row_bytes = RowBytes(type_, head_dim_);
  const size_t key_bytes = KeyCapacity(positions) * row_bytes, value_bytes = positions * row_bytes;
  const size_t used = positions % kKeyBlock;
  for (size_t head = 0; head < n_heads(); ++head) {
    const KvHead mine = Head(0, head);
    std::memcpy(to, mine.keys, key_bytes);
    if (used != 0) ClearUnused(type_, head_dim_, used, to + key_bytes - kKeyBlock * row_bytes);
    std::memcpy(to + key_bytes, mine.values, value_bytes);
    to += key_bytes + value_bytes;
  }
}

void KvCache::WritePrefix(size_t positions, const uint8_t* from) const {
  const size_t row_bytes = RowBytes(type_, head_dim_);
  const size_t key_bytes = KeyCapacity(positions) * row_bytes, value_bytes = positions * row_bytes;
  for (size_t head = 0; head < n_heads(); ++head) {
    const KvHead mine = Head(0, head);
    std::memcpy(mine.keys, from, key_bytes);
    std::memcpy(mine.values, from + key_bytes, value_bytes);
    from += key_bytes + value_bytes;
  }
}

void KvCache::CopyPrefix(const KvCache& from, size_t positions) const {
  const size_t row_bytes = RowBytes(type_, head_dim_);
  for (size_t head = 0; head < n_heads(); ++head) {
    const KvHead mine = Head(0, head), other = from.Head(0, head);
    std::memcpy(mine.keys, other.keys, KeyCapacity(positions) * row_bytes);
    std::memcpy(mine.values, other.values, positions * row_bytes);
  }
}

}  // namespace prenorm
