// From f32 to stored weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/types.h"

namespace prenorm {

/// True for the types that QuantizeRow writes: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K.
bool CanQuantize(DType type);

/// Encodes one row.
///
/// Shapes    x: [cols]; blocks: RowBytes(type, cols) bytes, any alignment; they must not overlap.
/// Requires  CanQuantize(type); cols is a multiple of its block length; x is finite (other values give some codes).
/// Accuracy  F16, BF16: to nearest, ties to even. Q8_0, Q4_0, Q4_1, Q5_0, Q5_1: bit for bit as the `gguf`
///           Python package (gguf.quants.quantize). Q4_K, Q5_K, Q6_K: for each sub-block the scale (and
///           minimum) of least squared error among a few candidates, then once more for the scales as they are
///           stored; same bits everywhere.
/// Threads   reentrant; does not allocate, print or throw.
/// Source    block layouts of the GGUF specification and ggml; the search is our own.
void QuantizeRow(DType type, const float* x, size_t cols, void* blocks);

struct QuantizeOptions {
  /// F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1: every matrix in that type. Q4_K, Q5_K, Q6_K: the same, but for rows
  /// that are no multiple of 256. Q4_K_M, Q5_K_M: Q4_K or Q5_K, with Q6_K for the output matrix and, in half of the
  /// layers, for the value and down projections. Where rows are no multiple of 256, Q5_0, Q5_1 and Q8_0 take the places
  /// of Q4_K, Q5_K and Q6_K, and the report says so.
  std::string recipe = "Q4_K_M";
  /// Called several times a second with the share done in [0, 1], always by the calling thread; return false to
  /// cancel (kCancelled).
  std::function<bool(float)> progress;
  /// 0 means DefaultThreads(). The file does not depend on it.
  int threads = 0;
};

struct QuantizeReport {
  uint64_t bytes_before = 0;  ///< Of all tensors.
  uint64_t bytes_after = 0;
  double bits_per_weight = 0;      ///< Of the new file.
  int threads = 1;                 ///< That took part.
  std::vector<std::string> notes;  ///< Each thing that differs from the recipe's plain reading, one sentence.
};

/// Names of the recipes.
std::vector<std::string> QuantizeRecipes();

/// Writes the model `from` to the new GGUF file `to` with its matrices of F32, F16 or BF16 quantized; vectors stay as
/// they are. Of a GGUF file all metadata is kept but general.file_type, general.quantization_version, general.alignment
/// and the keys of split models. Of a Hugging Face folder keys, names and tokenizer are written as other runtimes read
/// them: Llama (with Mistral, Mixtral, SmolLM2), Qwen 2 and 3, Gemma 1 to 3; the file is read back and compared before
/// a byte is written. `to` appears only when it is complete. Errors: those of opening `from`; kInvalidArgument for an
/// unknown recipe or `to` equal to `from`; kUnsupported for matrices that are quantized already, and for folders of
/// other families or that say what GGUF has no keys for; kIo; kCancelled. Thread-safe.
Result<QuantizeReport> QuantizeFile(const std::string& from, const std::string& to, const QuantizeOptions& options);

}  // namespace prenorm
