// What the Llama-like families have in common: sizes, rotary frequencies, the tensors of a pre-RMSNorm block.
#pragma once

#include <string>

#include "runtime/model/binder.h"
#include "runtime/model/config_reader.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// Reads the sizes of ModelConfig; errors are kept in `reader`.
void ReadDecoderConfig(ConfigReader& reader, const TensorSource& source, ModelConfig& config);

/// theta^(-2i / rope_dim) for i in [0, rope_dim / 2), each divided by the file's factor for it if there is one
/// (rope_freqs.weight, Llama 3.1) and by the linear scaling factor of the file. Other kinds of scaling are refused.
void ReadRope(ConfigReader& reader, const ModelConfig& config, Binder& binder, BlockSpec& block);

/// Binds embedding, blk.N.*, final norm and output matrix.
void BindDecoder(const ModelConfig& config, Binder& binder, ModelWeights& weights);

}  // namespace prenorm
