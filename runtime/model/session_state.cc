// One fixed header, then three arrays whose sizes follow from it.
#include "runtime/model/session_state.h"

#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <string>

#include "runtime/hash64.h"
#include "runtime/model/fingerprint.h"

namespace prenorm {
namespace {

constexpr std::array<char, 8> kMagic = {'P', 'R', 'E', 'S', 'E', 'S', 'S', '\n'};
constexpr uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t cache_type;   // DType
  uint64_t fingerprint;  // ModelFingerprint
  uint64_t n_tokens;
  uint64_t n_logits;  // vocab_size, or 0
  uint64_t cache_bytes;
  uint64_t checksum;  // Of the header with 0 here, then of the rest.
};
static_assert(sizeof(Header) == 56 && std::endian::native == std::endian::little);

// memcpy takes no null, which an empty vector may have, not even for nothing.
void CopyBytes(void* to, const void* from, size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

uint64_t Checksum(Header header, std::span<const uint8_t> rest) {
  header.checksum = 0;
  Hash64 hash;
  hash.Add(&header, sizeof header);
  hash.Add(rest.data(), rest.size());
  return hash.value();
}

Status Refusal(StatusCode code, std::string_view name, const std::string& what, const std::string& where,
               const std::string& advice) {
  return Status(code, what + "\n'" + std::string(name) + "': " + where + "\n" + advice);
}

Status Damaged(std::string_view name, const std::string& where) {
  return Refusal(StatusCode::kBadModel, name, "the stored session is damaged", where,
                 "Remove it, and evaluate the prompt again.");
}

}  // namespace

Result<std::vector<uint8_t>> WriteSessionState(const ModelParts& model, const KvCache& cache,
                                               std::span<const TokenId> tokens, std::span<const float> logits) {
  Header header{kMagic,        kVersion,      static_cast<uint32_t>(cache.type()), ModelFingerprint(model),
                tokens.size(), logits.size(), cache.PrefixBytes(tokens.size()),    0};
  std::vector<uint8_t> bytes;
  const size_t size =
      sizeof header + tokens.size_bytes() + logits.size_bytes() + static_cast<size_t>(header.cache_bytes);
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "the stored session needs " + std::to_string(size) +
                                                " bytes, which cannot be allocated\nstore a shorter one");
  }
  uint8_t* to = bytes.data() + sizeof header;
  CopyBytes(to, tokens.data(), tokens.size_bytes());
  to += tokens.size_bytes();
  CopyBytes(to, logits.data(), logits.size_bytes());
  cache.ReadPrefix(tokens.size(), to + logits.size_bytes());
  header.checksum = Checksum(header, std::span(bytes).subspan(sizeof header));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Result<SessionState> ReadSessionState(std::span<const uint8_t> bytes, std::string_view name, const ModelParts& model,
                                      const KvCache& cache) {
  Header header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Refusal(StatusCode::kBadModel, name, "this is no stored session",
                   "expected a header of " + std::to_string(sizeof header) + " bytes that begins with PRESESS",
                   "Name a file that Prenorm has written.");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kVersion) {
    return Refusal(StatusCode::kUnsupported, name, "the session was stored by another version of Prenorm",
                   "format: expected " + std::to_string(kVersion) + ", found " + std::to_string(header.version),
                   "Remove it, and evaluate the prompt again.");
  }
  if (header.fingerprint != ModelFingerprint(model)) {
    return Refusal(StatusCode::kInvalidArgument, name, "the session belongs to another model",
                   "the fingerprints differ", "Take the model it was stored with, or another file.");
  }
  if (header.cache_type != static_cast<uint32_t>(cache.type())) {
    const char* found = InfoOf(static_cast<DType>(header.cache_type)).name;
    return Refusal(
        StatusCode::kInvalidArgument, name, "the session has another type of cache",
        std::string("expected ") + InfoOf(cache.type()).name + ", found " + (found == nullptr ? "none" : found),
        "Choose that type of cache.");
  }
  if (header.n_tokens > cache.capacity()) {
    return Refusal(
        StatusCode::kInvalidArgument, name, "the session does not fit in the context",
        "it has " + std::to_string(header.n_tokens) + " tokens, the context " + std::to_string(cache.capacity()),
        "Use a larger context.");
  }
  const auto n_tokens = static_cast<size_t>(header.n_tokens);
  const size_t vocab_size = model.config.vocab_size;
  if (header.n_logits != 0 && (header.n_logits != vocab_size || n_tokens == 0))
    return Damaged(name, "its sizes contradict");
  const auto n_logits = static_cast<size_t>(header.n_logits);
  const size_t cache_bytes = cache.PrefixBytes(n_tokens);
  const size_t size = sizeof header + n_tokens * sizeof(TokenId) + n_logits * sizeof(float) + cache_bytes;
  if (header.cache_bytes != cache_bytes || bytes.size() != size) {
    return Damaged(name, "expected " + std::to_string(size) + " bytes, found " + std::to_string(bytes.size()));
  }
  if (header.checksum != Checksum(header, bytes.subspan(sizeof header))) return Damaged(name, "the checksum differs");

  SessionState state;
  const uint8_t* from = bytes.data() + sizeof header;
  state.tokens.resize(n_tokens);
  CopyBytes(state.tokens.data(), from, n_tokens * sizeof(TokenId));
  for (const TokenId id : state.tokens) {
    if (id < 0 || static_cast<size_t>(id) >= vocab_size) return Damaged(name, "token id " + std::to_string(id));
  }
  from += n_tokens * sizeof(TokenId);
  if (n_logits != 0) state.logits = from;
  state.cache = from + n_logits * sizeof(float);
  return state;
}

void RepairSessionState(std::span<uint8_t> bytes, const ModelParts& model) {
  Header header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = kMagic;
  header.version = kVersion;
  header.fingerprint = ModelFingerprint(model);
  header.checksum = Checksum(header, bytes.subspan(sizeof header));
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace prenorm
