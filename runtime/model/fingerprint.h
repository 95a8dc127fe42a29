// What tells models apart, for files that belong to one: stored sessions and prepared weights.
#pragma once

#include <cstdint>

#include "runtime/model/parts.h"

namespace prenorm {

/// Sizes, types of the matrices, every norm, and two rows of each matrix. A whole checksum would
/// read all weights, which costs more than most prompts; a model of the same sizes that differs in none of this has
/// never been seen. Does not depend on the SIMD target.
uint64_t ModelFingerprint(const ModelParts& model);

}  // namespace prenorm
