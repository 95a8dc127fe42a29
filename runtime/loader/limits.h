// Limits on what a model file may ask for. Counts are also bounded by the bytes that are there to hold them, so no
// allocation is larger than a small multiple of the file itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prenorm {

inline constexpr uint64_t kMaxMetadataKeys = 1u << 16;
inline constexpr uint64_t kMaxTensors = 1u << 20;     // The largest published mixtures of experts have about 2^17.
inline constexpr uint64_t kMaxNameBytes = 65535;      // Of a metadata key or a tensor: the format's own limit for keys.
inline constexpr uint64_t kMaxAlignment = 1u << 20;   // Bytes; powers of two from kMinAlignment.
inline constexpr uint64_t kMinAlignment = 8;          // Bytes; keeps f32 and f64 values aligned, as GGUF asks for.
inline constexpr uint64_t kMaxElements = 1ull << 48;  // Of one tensor: far beyond any machine, and no product wraps.
inline constexpr size_t kMaxTensorDims = 4;

}  // namespace prenorm
