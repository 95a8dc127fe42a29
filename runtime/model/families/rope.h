// Rotary frequencies of a model, with the scaling of long contexts that its file asks for.
#pragma once

#include "prenorm/model.h"
#include "runtime/model/binder.h"
#include "runtime/model/config_reader.h"
#include "runtime/model/weights.h"

namespace prenorm {

/// theta^(-2i / rope_dim) for i in [0, rope_dim / 2).
RopeTable PlainRope(const ModelConfig& config, float theta);

/// The table of config.rope_theta, scaled as the file says: linear (Chen et al. 2023), longrope (Ding et al. 2024),
/// llama3 (as formula in config.json, as divisors in the GGUF tensor rope_freqs), yarn (Peng et al. 2023); dynamic,
/// which changes nothing within the context of the model. Other kinds are refused by name; errors are kept in `reader`
/// and `binder`.
RopeTable ReadRope(ConfigReader& reader, const ModelConfig& config, Binder& binder);

}  // namespace prenorm
