// Keys and values of a session's positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/attention.h"
#include "prenorm/model.h"
#include "prenorm/status.h"
#include "prenorm/types.h"
#include "runtime/parallel/buffer.h"

namespace prenorm {

/// Keys [n_layers, n_kv_heads, KeyCapacity(capacity), head_dim] in key blocks, values [n_layers, n_kv_heads, capacity,
/// head_dim] (attention.h): what one head reads is contiguous.
class KvCache {
 public:
  KvCache() = default;
  /// Errors: kOutOfMemory with the bytes needed and how to need fewer.
  static Result<KvCache> Create(const ModelConfig& config, DType type, size_t capacity);

  DType type() const { return type_; }
  size_t capacity() const { return capacity_; }
  size_t bytes() const { return keys_.bytes() + values_.bytes(); }
  KvHead Head(size_t layer, size_t head) const;

  /// Stored form of positions [0, positions), which does not depend on the capacity: for each layer and head its whole
  /// key blocks, then its values.
  size_t PrefixBytes(size_t positions) const;
  /// Places of the last key block behind `positions` become 0, so that equal prefixes have equal bytes.
  void ReadPrefix(size_t positions, uint8_t* to) const;
  /// Any bytes will do. positions <= capacity().
  void WritePrefix(size_t positions, const uint8_t* from) const;
  /// Takes over positions [0, positions) of a cache of the same model and type.
  void CopyPrefix(const KvCache& from, size_t positions) const;

 private:
  size_t n_heads() const { return n_layers_ * n_kv_heads_; }

  DType type_ = DType::kF16;
  size_t n_layers_ = 0;
  size_t n_kv_heads_ = 0;
  size_t head_dim_ = 0;
  size_t capacity_ = 0;
  Buffer keys_;
  Buffer values_;
};

}  // namespace prenorm
