// Matrices of encoders in the form for many rows: whole texts are all that they ever see.
#pragma once

#include <vector>

#include "prenorm/status.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// The matrices that are packed: those of a bidirectional model's blocks that are F32, F16 or BF16. None of others.
std::vector<const WeightMatrix*> PackedMatrices(const ModelParts& parts);

/// Packs them. What was mapped of them goes out of memory again: only a text of one token reads it. Errors:
/// kOutOfMemory.
Status PackEncoderPanels(ModelParts& parts);

}  // namespace prenorm
