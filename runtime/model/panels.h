// Matrices of encoders in the form for many rows: whole texts are all that they ever see.
#pragma once

#include "prenorm/status.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// Packs the matrices of a bidirectional model's blocks that are F32, F16 or BF16, which then are not read from the
/// file again; does nothing for other models. Errors: kOutOfMemory.
Status PackEncoderPanels(ModelParts& parts);

}  // namespace prenorm
