// The stored form of a session, and what is checked before one is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/types.h"
#include "prenorm/tokenizer.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// What a session consists of, between two calls.
struct SessionState {
  std::vector<TokenId> tokens;
  const uint8_t* logits = nullptr;  ///< f32 [vocab_size] of the last token at any alignment; null: none.
  const uint8_t* cache = nullptr;   ///< KvCache::PrefixBytes(tokens.size()), see KvCache::ReadPrefix.
};

/// Header (magic, version, fingerprint, sizes, checksum of all that follows), ids, logits, cache; little-endian.
/// Errors: kOutOfMemory.
Result<std::vector<uint8_t>> WriteSessionState(const ModelParts& model, const KvCache& cache,
                                               std::span<const TokenId> tokens, std::span<const float> logits);

/// Checks everything, in constant time but for the last: the checksum. Points into `bytes`. `name` stands for them in
/// messages. Errors: kBadModel for what is no session, cut or damaged; kUnsupported for another version;
/// kInvalidArgument for another model, another cache type, or more tokens than the cache holds.
Result<SessionState> ReadSessionState(std::span<const uint8_t> bytes, std::string_view name, const ModelParts& model,
                                      const KvCache& cache);

/// Makes header and checksum fit the rest of `bytes`, so that fuzzing gets past them. Too few bytes stay as they are.
void RepairSessionState(std::span<uint8_t> bytes, const ModelParts& model);

}  // namespace prenorm
