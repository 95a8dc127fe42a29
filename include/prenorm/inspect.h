// What is in a model file, and whether Prenorm can run it, without loading the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/types.h"

namespace prenorm {

struct InspectOptions {
  size_t context = 0;           ///< Tokens to reckon the cache for; 0: as many as the model was trained for.
  DType kv_type = DType::kF16;  ///< Type of the cache: F32, F16 or BF16.
};

/// One key of the metadata. Arrays are summed up in `value`: how many of what, and the first items.
struct InspectedKey {
  std::string key;
  std::string type;   ///< "u32", "string", "array of string", ...
  std::string value;  ///< As text; numbers and bools as in JSON.
};

struct InspectedTensor {
  std::string name;
  std::vector<uint64_t> shape;  ///< Slowest dimension first, as in NumPy: [rows, cols].
  DType type;
  uint64_t offset;  ///< Bytes from the start of its file.
  uint64_t bytes;
};

/// All tensors of one storage type.
struct InspectedType {
  DType type;
  size_t tensors;
  uint64_t elements;
  uint64_t bytes;
};

/// One normalization of the model.
struct InspectedNorm {
  std::string site;          ///< "attn_norm", "q_norm", "ffn_norm", "final_norm", ...; else the tensor's own name.
  int64_t layer;             ///< -1 outside the layers.
  std::string kind;          ///< "rms_norm" or "layer_norm".
  uint64_t size;             ///< Elements of the gain.
  std::optional<float> eps;  ///< Absent where the file does not say.
};

/// Bytes that a run needs.
struct InspectedMemory {
  uint64_t weights = 0;    ///< All tensors as stored.
  size_t context = 0;      ///< Tokens; 0 if the file does not say and nothing was asked for.
  uint64_t kv_cache = 0;   ///< Keys and values of `context` positions; 0 where the file lacks the sizes.
  bool keeps_keys = true;  ///< False for encoders, which see a whole text at once: they need no cache.
  uint64_t total = 0;
};

struct Inspection {
  std::string path;
  std::string format;        ///< "gguf" or "huggingface".
  uint32_t version = 0;      ///< Of the GGUF format; 0 for others.
  std::string architecture;  ///< Empty if the file names none.
  std::string name;
  bool supported = false;            ///< Prenorm can run it.
  std::vector<std::string> reasons;  ///< What prevents it; empty when supported.
  uint64_t parameters = 0;           ///< Elements of all tensors.
  uint64_t norm_parameters = 0;      ///< Of these, gains and biases of normalizations.
  std::vector<InspectedKey> metadata;
  std::vector<InspectedTensor> tensors;  ///< In file order.
  std::vector<InspectedType> types;      ///< Most bytes first.
  std::vector<InspectedNorm> norms;      ///< In file order.
  InspectedMemory memory;
};

/// Reads the header of a model file; a well-formed file that cannot be run is a success with `supported` false.
/// Errors: kNotFound, kIo; kBadModel for a damaged file; kUnsupported for versions and tensor types that are
/// not read. Thread-safe.
Result<Inspection> Inspect(const std::string& path, const InspectOptions& options = {});

/// The same for a GGUF file in memory, aligned to 8 bytes; `name` stands for the path.
Result<Inspection> InspectMemory(std::span<const uint8_t> bytes, const std::string& name,
                                 const InspectOptions& options = {});

}  // namespace prenorm
