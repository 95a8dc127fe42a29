// A Hugging Face folder as the content of a GGUF file: keys, names and the order of rows, as converters write them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "runtime/loader/metadata_builder.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// A tensor that is written row by row.
struct TensorRows {
  TensorInfo info;                    ///< Name, type and shape as written; the type is that of the rows below.
  std::vector<const uint8_t*> parts;  ///< Parts of equally many rows, one after the other.
  size_t heads = 0;  ///< Not 0: pairs of rotary elements become neighbours, in each of so many heads of rows.

  const uint8_t* Row(size_t r) const;
  /// Whether the rows lie in memory as they are written.
  bool is_plain() const { return parts.size() == 1 && heads == 0; }
};

struct GgufContent {
  std::vector<MetaEntry> entries;
  std::vector<TensorRows> tensors;
  std::vector<std::string> notes;  ///< What of the model is left out.

  // What the above points to.
  std::unique_ptr<TensorSource> source;
  MetadataBuilder made_entries;
  std::deque<std::string> names;
  std::deque<std::vector<float>> vectors;
};

/// Families: Llama (with Mistral, Mixtral and SmolLM2), Qwen 2 and 3, Qwen 3 MoE, Gemma 1 to 3. Vectors become F32.
///
/// Check   what is written is read back as a model, and must describe the same computation as the folder.
/// Errors  those of loading the folder; kUnsupported for other families, and for what GGUF's keys cannot say.
Result<GgufContent> ConvertFolder(std::unique_ptr<TensorSource> folder);

}  // namespace prenorm
