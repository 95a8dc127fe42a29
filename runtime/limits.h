// What a hostile file or caller may ask for, all in one place; SECURITY.md has them as a table. Counts are also bounded
// by the bytes that are there to hold them, so that no allocation is larger than a small multiple of the file itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prenorm {

// Model files.
inline constexpr uint64_t kMaxMetadataKeys = 1u << 16;
inline constexpr uint64_t kMaxTensors = 1u << 20;     // The largest published mixtures of experts have about 2^17.
inline constexpr uint64_t kMaxNameBytes = 65535;      // Of a metadata key or a tensor: the format's own limit for keys.
inline constexpr uint64_t kMaxAlignment = 1u << 20;   // Bytes; powers of two from kMinAlignment.
inline constexpr uint64_t kMinAlignment = 8;          // Bytes; keeps f32 and f64 values aligned, as GGUF asks for.
inline constexpr uint64_t kMaxElements = 1ull << 48;  // Of one tensor: far beyond any machine, and no product wraps.
inline constexpr size_t kMaxTensorDims = 4;
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // Bytes: the limit of the format's own readers.
inline constexpr size_t kMaxFolderJson = size_t{64} << 20;      // Bytes; indices of the largest models have a few MiB.
inline constexpr int kMaxConfigDepth = 16;                      // Objects inside each other in a config.json.

// Shapes of a model.
inline constexpr size_t kMaxWidth = 1u << 20;
inline constexpr size_t kMaxLayers = 1u << 12;
inline constexpr size_t kMaxHeads = 1u << 14;
inline constexpr size_t kMaxContext = 1u << 28;  // Tokens.
inline constexpr size_t kMaxExperts = 1u << 12;
inline constexpr size_t kMaxChunk = 1u << 16;  // Tokens evaluated at once.
inline constexpr int kMaxThreads = 1024;

// Tokenizers.
inline constexpr size_t kMaxTokens = size_t{1} << 24;
inline constexpr size_t kMaxIdsOfAFile = size_t{1} << 16;  // Of a tokenizer.json, unless it has more bytes than that.
inline constexpr size_t kMaxTokenBytes = size_t{1} << 16;
inline constexpr size_t kMaxMerges = size_t{1} << 25;
inline constexpr int kMaxTokenizerDepth = 16;          // Sequence in Sequence, in a tokenizer.json.
inline constexpr size_t kMaxTokenizerSteps = 64;       // Of normalization, and as many that cut the text.
inline constexpr size_t kMaxSearchedTokenBytes = 512;  // Of vocabularies whose tokens are tried at every place.
inline constexpr size_t kMaxCharsmapKeyBytes = 512;    // What a table of characters replaces at once.
inline constexpr size_t kMaxTextBytes = 0x7FFFFFFF;
inline constexpr size_t kMaxTextGrowth = 64;  // Bytes that a step makes of one; the largest of Unicode is 18.
inline constexpr size_t kMaxGrownBytes = size_t{1} << 20;  // And so many more, whatever the text.
// Far above what the known pre-tokenizers need (their steps are linear), low enough to stop a hostile
// expression in seconds. Only some matches may take the larger number.
inline constexpr uint32_t kMaxRegexSteps = 20'000'000;
inline constexpr uint32_t kUsualRegexSteps = 20'000;
inline constexpr size_t kLongRegexMatches = 16;    // That may take more than the usual steps,
inline constexpr size_t kBytesOfLongMatch = 1000;  // and one more for so many bytes of text.
inline constexpr uint32_t kMaxRegexDepth = 1'000'000;
inline constexpr uint32_t kMaxRegexHeapKib = 256 * 1024;

// Calls of the C interface.
inline constexpr size_t kMaxMessages = size_t{1} << 20;
inline constexpr size_t kMaxStops = 4096;
inline constexpr size_t kMaxDetokenized = size_t{1} << 31;  // Tokens made text at once.
inline constexpr size_t kMaxBiases = size_t{1} << 24;

namespace chat_template {

inline constexpr size_t kMaxFieldWidth = 10000;  // Characters that a format pads to: nobody pads further.

/// What a template may use up. Templates come with models: each limit stops one way to exhaust a host.
struct Limits {
  size_t template_bytes = size_t{1} << 20;  ///< Source; the longest published template has about 2^15.
  size_t nesting = 100;                ///< Blocks, brackets, operators and constants inside each other, in the source.
  size_t depth = 400;                  ///< Evaluations inside each other, macros included: bounds the stack.
  uint64_t steps = uint64_t{4} << 20;  ///< Expressions and statements evaluated, elements visited: about a second.
  uint64_t work_bytes = uint64_t{1} << 30;  ///< All strings and containers ever made, together.
  size_t string_bytes = size_t{64} << 20;   ///< One string.
  size_t output_bytes = size_t{64} << 20;   ///< The rendered text.
  size_t range_items = 100000;              ///< range(), as in Jinja's sandbox.
  size_t value_depth = 100;                 ///< Lists and dicts inside each other, also in the caller's JSON.
};

}  // namespace chat_template
}  // namespace prenorm
