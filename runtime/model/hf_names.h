// Names of tensors in Hugging Face folders, by those of GGUF files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// The same tensor in both worlds: "attn_q" and "self_attn.q_proj", without layer and ending.
struct NamePair {
  std::string_view gguf;
  std::string_view hf;
};

/// How a family differs from the names of Llama.
struct HfNames {
  std::span<const NamePair> pairs;  ///< Looked at before the common ones. "#" stands for the number of an expert.
  std::string_view layers = "layers.";
  bool transposed = false;  ///< Linear maps are stored [in, out] (GPT-2).
};

/// What precedes the folder's names of embedding and layers: "model.", "", ...
std::string HfPrefix(const TensorSource& source, const HfNames& names);

/// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight". `gguf` itself if no pair is known.
std::string HfTensorName(std::string_view gguf, std::string_view prefix, const HfNames& names);

}  // namespace prenorm
